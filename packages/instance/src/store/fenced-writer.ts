import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { NodeClient, RawWrite, WriteOutcome } from '../cluster/node-client.js';
import type { Retrying } from '../cluster/retry.js';
import type { SessionFence } from './session-fence.js';
import { Condition } from './condition.js';
import { numbersPerEpoch, writeTicketed } from './ticketed-write.js';

/** Makes sure that the share is still owned, when that was not confirmed lately; rejects with `staleEpoch` when it is not. */
export type ConfirmOwner = () => Promise<void>;

interface Slot {
  readonly lsid: Uint8Array;
  next: bigint;
}

/**
 * Sends the data writes of one share, each in one of a fixed number of server sessions that belong to the share's identity.
 * One write is in flight per session; an unknown outcome is sent again under the same number. A server remembers a number only
 * where a document was really changed: a copy of the write that a router still holds would be carried out later by a shard
 * on which the answered one changed nothing, over newer documents, or in a collection that has come under the same name. So a
 * write that was not answered at once is over when its session is fenced.
 * After another owner has fenced the sessions, the servers refuse what is still under way.
 */
export class FencedWriter {
  readonly #idle: Slot[];
  readonly #freed = new Condition();

  /**
   * @param sessions 16-byte ids of the sessions
   * @param epoch the share's epoch, below 2^31
   * @param confirm asked before every write
   * @param fence refuses copies of repeated writes
   */
  constructor(
    private readonly client: NodeClient,
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
   * @returns what was written and the failures of single statements that repeating cannot mend
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
      // Taken first: a fence that fails on one shard may stand on the others, where its number is used up.
      const above = slot.next;
      slot.next += 1n;
      await this.fence.raise(slot.lsid, above, signal);
    }
    if ('error' in answer) throw answer.error;
    return answer.outcome;
  }
}
