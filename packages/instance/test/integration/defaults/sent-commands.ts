import { Db, type Document } from 'mongodb';
import { onTestFinished, vi } from 'vitest';

/** A command of an instance in this process, as it goes to the driver. */
export interface Sent {
  readonly name: string;
  readonly database: string;
  readonly command: Document;
  /** The driver's options beside it. */
  readonly options: Document;
}

/** Records the commands of all instances in this process from now on, to the end of the test. */
export function sentCommands(): Sent[] {
  const sent: Sent[] = [];
  const original = Object.getOwnPropertyDescriptor(Db.prototype, 'command')?.value as Db['command'];
  const spy = vi.spyOn(Db.prototype, 'command').mockImplementation(function (this: Db, command, options = {}) {
    if (this.client.options.appName === 'convoy') {
      const name = Object.keys(command)[0] ?? '';
      sent.push({ name, database: this.databaseName, command: { ...command }, options });
    }
    return original.call(this, command, options);
  });
  onTestFinished(() => spy.mockRestore());
  return sent;
}
