import { CommandError } from '../../node/command.js';
import type { RunningTransaction } from './running-transaction.js';
import type { Sessions } from './sessions.js';

/**
 * DDL changes that need a collection for themselves. They wait for every running transaction that has used it, and
 * meanwhile no other transaction begins to (seen on 5.0.7).
 */
export class ExclusiveUse {
  readonly #waiting = new Map<string, number>();

  constructor(private readonly sessions: Sessions) {}

  /** A transaction other than the command's own that uses one of the collections. */
  user(namespaces: readonly string[], own: RunningTransaction | null): RunningTransaction | undefined {
    return this.sessions.running.find(
      (each) => each !== own && namespaces.some((namespace) => each.used.has(namespace)),
    );
  }

  /**
   * Waits until no other transaction uses any of the collections.
   * @param within waits for a promise, within the limits of the command
   */
  async freed(
    namespaces: readonly string[],
    own: RunningTransaction | null,
    within: (ended: Promise<void>) => Promise<void>,
  ): Promise<void> {
    for (const namespace of namespaces) this.#note(namespace, 1);
    try {
      for (let user = this.user(namespaces, own); user !== undefined; user = this.user(namespaces, own))
        await within(user.storage.ended);
    } finally {
      for (const namespace of namespaces) this.#note(namespace, -1);
    }
  }

  /**
   * Notes that a transaction uses a collection, up to its end.
   * @throws CommandError 24 while a DDL change waits for the collection
   */
  begin(transaction: RunningTransaction, namespace: string): void {
    if (transaction.used.has(namespace)) return;
    if (this.#waiting.has(namespace)) throw lockTimeout(namespace);
    transaction.used.add(namespace);
  }

  #note(namespace: string, change: 1 | -1): void {
    const count = (this.#waiting.get(namespace) ?? 0) + change;
    if (count === 0) this.#waiting.delete(namespace);
    else this.#waiting.set(namespace, count);
  }
}

/** The default of `maxTransactionLockRequestTimeoutMillis`. */
const lockWaitMs = 5;

function lockTimeout(namespace: string): CommandError {
  return new CommandError(
    24,
    'LockTimeout',
    `Unable to acquire IX lock on '{0: Collection, 0, ${namespace}}' within ${lockWaitMs}ms. opId: 0, op: conn0, ` +
      'connId: 0.',
    ['TransientTransactionError'],
  );
}
