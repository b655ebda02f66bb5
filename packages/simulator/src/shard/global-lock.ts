import type { CommandRequest } from '../node/command.js';
import { CommandError } from '../node/command.js';
import { waitWithin } from './command-limits.js';
import type { Interruption } from './interruption.js';
import type { Sessions } from './session/sessions.js';

/** Commands that take no lock, so that they continue while another waits for it. */
const lockFree: ReadonlySet<string> = new Set([
  'currentOp',
  'endSessions',
  'killAllSessions',
  'killCursors',
  'killSessions',
  'refreshSessions',
  'startSession',
]);

/**
 * The lock of a whole node. Open transactions hold it until they end. An exclusive request waits for them, and later
 * commands queue behind it.
 */
export class GlobalLock {
  #wanted: Promise<void> | null = null;

  constructor(
    private readonly sessions: Sessions,
    private readonly interruption: Interruption,
  ) {}

  /** True while the lock is held or requested exclusively. */
  get isWanted(): boolean {
    return this.#wanted !== null;
  }

  /**
   * Takes the lock exclusively, once no transaction is open.
   * @param signal of the requesting client
   * @returns releases it
   * @throws CommandError 11600 or 11602 when the node stops or steps down, 279 when the client disconnects
   */
  async takeAlone(signal: AbortSignal): Promise<() => void> {
    while (this.#wanted !== null) await this.#wanted;
    let release: () => void = () => undefined;
    this.#wanted = new Promise((resolve) => {
      release = () => {
        this.#wanted = null;
        resolve();
      };
    });
    const { count } = this.interruption;
    try {
      for (let [first] = this.sessions.running; first !== undefined; [first] = this.sessions.running) {
        await waitWithin(first.storage.ended, new Map(), signal);
      }
      this.interruption.refuseSince(count);
      return release;
    } catch (error) {
      release();
      throw error;
    }
  }

  /**
   * Waits until a command may take its part of the lock. Undefined when it may at once.
   * @throws CommandError 107 for a note to the oplog, which does not wait (server source: oplog_note)
   */
  enter({ name, body, signal }: CommandRequest): Promise<void> | undefined {
    const isOpen = body.get('autocommit') === false && body.get('startTransaction') !== true;
    if (this.#wanted === null || isOpen || lockFree.has(name)) return undefined;
    if (name === 'appendOplogNote') throw new CommandError(107, 'LockFailed', 'Global lock is not available');
    return waitWithin(this.#wanted, body, signal);
  }
}
