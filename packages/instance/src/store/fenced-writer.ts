import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { NodeClient, RawWrite, WriteOutcome } from '../cluster/node-client.js';
import type { Retrying } from '../async/retry.js';
import type { SessionFence } from './session-fence.js';
import { Condition } from '../async/waiting.js';
import { numbersPerEpoch, writeTicketed } from './ticketed-write.js';

/** Resolves while this process owns the sync task; rejects with `staleEpoch` otherwise. May use a recent answer. */
export type ConfirmOwner = () => Promise<void>;

/** Writes documents to the destination, as `FencedWriter` does. */
export interface DocumentWriter {
  write(write: RawWrite, signal: AbortSignal): Promise<WriteOutcome>;
}

interface Slot {
  readonly lsid: Uint8Array;
  next: bigint;
}

/**
 * Sends the data writes of one sync task, each in one of a fixed number of server sessions that belong to the task.
 * Each session has one write in flight. A write with an unknown outcome is sent again under the same number. A server
 * remembers a number only where the write changed a document. A router may still hold a copy of the write, and a shard
 * on which the answered one changed nothing would apply it later: over newer documents, or in another collection under
 * the same name. So a write that needed a repetition ends only when its session is fenced. After another owner has
 * fenced the sessions, the servers refuse all writes still in flight.
 */
export class FencedWriter implements DocumentWriter {
  readonly #idle: Slot[];
  readonly #freed = new Condition();

  /**
   * @param sessions 16-byte ids of the sessions
   * @param epoch the task's epoch, below 2^31
   * @param confirm awaited before every write
   * @param fence refuses copies of repeated writes
   */
  constructor(
    private readonly client: Pick<NodeClient, 'write'>,
    private readonly retrying: Retrying,
    sessions: readonly Uint8Array[],
    epoch: number,
    private readonly confirm: ConfirmOwner,
    private readonly fence: SessionFence,
  ) {
    const first = BigInt(epoch) * numbersPerEpoch + 1n;
    this.#idle = sessions.map((lsid) => ({ lsid, next: first }));
  }

  /**
   * Writes at majority; waits for a free session first.
   * @returns the counts, and the failures of single statements that no repetition can mend
   * @throws ConvoyError `staleEpoch` when another owner has taken over, `retriesExhausted`
   */
  async write(write: RawWrite, signal: AbortSignal): Promise<WriteOutcome> {
    await this.#freed.until(() => this.#idle.length > 0, signal);
    const slot = this.#idle.pop();
    if (slot === undefined) return this.write(write, signal);
    try {
      return await this.#writeIn(slot, write, signal);
    } finally {
      this.#idle.push(slot);
      this.#freed.changed();
    }
  }

  async #writeIn(slot: Slot, write: RawWrite, signal: AbortSignal): Promise<WriteOutcome> {
    const ticket = { lsid: slot.lsid, txnNumber: slot.next };
    slot.next += 1n;
    let sendings = 0;
    const send = async (): Promise<WriteOutcome> => {
      await this.confirm();
      sendings += 1;
      return writeTicketed(this.client, write, ticket, signal);
    };
    const answer = await this.retrying(`${write.kind} documents`, send, signal).then(
      (outcome) => ({ outcome }),
      (error: unknown) => {
        if (signal.aborted || error instanceof ConvoyError) throw error;
        return { error };
      },
    );
    if (sendings > ('error' in answer ? 0 : 1)) {
      // Taken first: a fence that fails on one shard may have used its number on the others.
      const above = slot.next;
      slot.next += 1n;
      await this.fence.raise(slot.lsid, above, signal);
    }
    if ('error' in answer) throw answer.error;
    return answer.outcome;
  }
}
