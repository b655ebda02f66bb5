import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type CommandResult, runConvoy } from '@convoy/cli/environment/fleet/run-convoy';
import { withoutRedisVariable } from '@convoy/cli/environment/fleet/convoy-program';
import { isFullRun } from '../../../test/seed.js';

type Ended = CommandResult & { readonly id: number };

/** How the test hears of a command's end. */
interface Waiting {
  readonly end: (ended: CommandResult) => void;
  readonly fail: (error: Error) => void;
}

/** A process that runs commands for this one, and ends with it. */
class CommandHost {
  private readonly waiting = new Map<number, Waiting>();
  private readonly child: ChildProcess;
  private count = 0;

  constructor() {
    const path = fileURLToPath(new URL('command-host.mjs', import.meta.url));
    this.child = fork(path, { env: { ...process.env, ...withoutRedisVariable, FORCE_COLOR: undefined } });
    this.child.on('message', ({ id, ...ended }: Ended) => this.take(id)?.end(ended));
    this.child.on('exit', (code, signal) => this.failAll(`The host of commands has ended: ${code ?? signal}.`));
    this.child.unref();
  }

  run(args: readonly string[]): Promise<CommandResult> {
    const id = (this.count += 1);
    return new Promise((end, fail) => {
      this.waiting.set(id, { end, fail });
      this.child.channel?.ref();
      this.child.send({ id, args });
    });
  }

  private take(id: number): Waiting | undefined {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    if (this.waiting.size === 0) this.child.channel?.unref();
    return waiting;
  }

  private failAll(message: string): void {
    if (host === this) host = undefined;
    for (const id of [...this.waiting.keys()]) this.take(id)?.fail(new Error(message));
  }
}

/** One for each process of tests, whatever the file. */
let host: CommandHost | undefined;

/**
 * Runs a command of `convoy` to its end where its process is not what a test is about: in one whose modules are loaded
 * (docs/decisions/0203). A full run starts a process for each.
 */
export function runCommand(...args: string[]): Promise<CommandResult> {
  if (isFullRun) return runConvoy(...args);
  host ??= new CommandHost();
  return host.run(args);
}
