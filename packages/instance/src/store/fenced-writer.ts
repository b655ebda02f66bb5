import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Door, RawWrite, WriteOutcome, WriteTicket } from '../cluster/door.js';
import { classify, kindOfCode } from '../cluster/failure.js';
import type { Retrying } from '../cluster/retry.js';
import { Signalled } from './signalled.js';

/** Numbers of one epoch: the next epoch begins at `(epoch + 1) × 2^32`. */
const numbersPerEpoch = 2n ** 32n;

/** A statement inside a bulk failed in a way that sending it again under the same number mends. */
export class RetryableStatement extends Error {
  constructor(readonly code: number) {
    super(`a statement failed with retryable code ${code}`);
    this.name = 'RetryableStatement';
  }
}

/** Makes sure that the share is still owned, when that was not confirmed lately; rejects with `staleEpoch` when it is not. */
export type ConfirmOwner = () => Promise<void>;

interface Slot {
  readonly lsid: Uint8Array;
  next: bigint;
}

/**
 * Sends the data writes of one share, each in one of a fixed number of server sessions that belong to the share's identity.
 * One write is in flight per session; an unknown outcome is sent again under the same number and so takes effect once.
 * After another owner has fenced the sessions, the servers refuse what is still under way.
 */
export class FencedWriter {
  readonly #idle: Slot[];
  readonly #freed = new Signalled();

  /**
   * @param sessions 16-byte ids of the sessions
   * @param epoch the share's epoch, below 2^31
   * @param confirm asked before every write
   */
  constructor(
    private readonly door: Door,
    private readonly retrying: Retrying,
    sessions: readonly Uint8Array[],
    epoch: number,
    private readonly confirm: ConfirmOwner,
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
    const ticket = { lsid: slot.lsid, txnNumber: slot.next };
    slot.next += 1n;
    try {
      return await this.retrying(`${write.kind} documents`, () => this.#send(write, ticket, signal), signal);
    } finally {
      this.#idle.push(slot);
      this.#freed.changed();
    }
  }

  async #send(write: RawWrite, ticket: WriteTicket, signal: AbortSignal): Promise<WriteOutcome> {
    await this.confirm();
    const outcome = await this.door.write(write, ticket, { signal }).catch((error: unknown) => {
      // A replica set refuses the whole command, a router the single statements.
      throw classify(error) === 'staleEpoch' ? new ConvoyError('staleEpoch') : error;
    });
    refuseFailures(outcome);
    return outcome;
  }
}

/**
 * Looks through the failures of single statements for those that concern the whole write.
 * @throws ConvoyError `staleEpoch`; RetryableStatement when the write has to be sent again under its number
 */
export function refuseFailures(outcome: WriteOutcome): void {
  for (const failure of outcome.failures) {
    const kind = kindOfCode(failure.code);
    if (kind === 'staleEpoch') throw new ConvoyError('staleEpoch');
    if (kind === 'retryable') throw new RetryableStatement(failure.code);
  }
}
