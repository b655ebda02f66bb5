import { CommandError, type ConnectionState } from './command.js';

/** Databases that user write blocking leaves alone. */
const internalDatabases: ReadonlySet<string> = new Set(['admin', 'config', 'local']);

/** Collections inside user databases that the server writes itself. */
const internalCollection = /^system\.(profile$|resharding\.)/;

/**
 * The switch of `setUserWriteBlockMode` (6.0). While it is on, only the servers themselves and users with the privilege
 * `bypassWriteBlockingMode` may change user databases; without access control nobody has that privilege.
 */
export class UserWriteBlock {
  enabled = false;
  #exempt = true;

  /** Runs the synchronous part of a command as its client; outside of it the node itself is at work. */
  actAs<T>(client: ConnectionState, work: () => T): T {
    if (!this.enabled) return work();
    const before = this.#exempt;
    this.#exempt = client.bypassesWriteBlocking === true;
    try {
      return work();
    } finally {
      this.#exempt = before;
    }
  }

  /** @throws CommandError 371 when the client at work may not change this database's collection */
  refuse(db: string, collection = ''): void {
    if (!this.enabled || this.#exempt || internalDatabases.has(db) || internalCollection.test(collection)) return;
    throw new CommandError(371, 'UserWritesBlocked', 'User writes blocked');
  }
}
