import { isTrue } from './doc-fields.js';
import { CommandError, type CommandRequest, type ConnectionState } from './command.js';

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

  /** Refuses a definition change of a sharded cluster before it begins. @throws CommandError 371 */
  refuseClient(client: ConnectionState, db: string): void {
    this.actAs(client, () => this.refuse(db));
  }

  /**
   * `setUserWriteBlockMode`.
   * @throws CommandError 40414 when `global` is missing
   */
  set({ name, body }: CommandRequest): void {
    const global = body.get('global');
    if (global === undefined) throw new CommandError(40414, 'Location40414', `BSON field '${name}.global' is missing but a required field`);
    this.enabled = isTrue(global);
  }

  /** @throws CommandError 371 when the client at work may not change this database's collection */
  refuse(db: string, collection = ''): void {
    if (!this.enabled || this.#exempt || internalDatabases.has(db) || internalCollection.test(collection)) return;
    throw new CommandError(371, 'UserWritesBlocked', 'User writes blocked');
  }
}
