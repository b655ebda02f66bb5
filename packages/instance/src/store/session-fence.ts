import { BSON } from 'mongodb';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { NodeClient, RawWrite, WriteTicket } from '../cluster/node-client.js';
import { historyIncompleteCode } from '../cluster/failure.js';
import type { Retrying } from '../async/retry.js';
import { metadataDatabase } from './metadata.js';
import { numbersPerEpoch, writeTicketed } from './ticketed-write.js';

/** Has one document on each destination shard; its `_id` is the shard's position. */
export const fenceCollection = 'fence';
/** Sessions fenced at the same time. All fences change the same documents, so more would only wait for each other. */
const fencesParallel = 8;

/**
 * Closes server sessions to earlier writes: one majority update changes one document on every shard of the destination.
 * From then on the shards refuse lower numbers (TransactionTooOld), also those of writes that wait in a router.
 */
export class SessionFence {
  readonly #write: RawWrite;

  constructor(
    private readonly destination: { readonly router: Pick<NodeClient, 'write'>; readonly shardIds: readonly string[] },
    private readonly retrying: Retrying,
  ) {
    const statements = destination.shardIds.map((_, id) =>
      BSON.serialize({ q: { _id: id }, u: { $inc: { fenced: 1 } } }),
    );
    this.#write = {
      database: metadataDatabase,
      collection: fenceCollection,
      kind: 'update',
      statements,
      ordered: false,
    };
  }

  /**
   * @param lsid 16 bytes of the session's UUID
   * @param txnNumber the servers refuse all lower ones
   * @throws ConvoyError `staleEpoch` when another owner has fenced the session higher
   */
  async raise(lsid: Uint8Array, txnNumber: bigint, signal: AbortSignal): Promise<void> {
    await this.retrying('fence a session', () => this.#send({ lsid, txnNumber }, signal), signal);
  }

  /**
   * Stops the former owner of a task, which may be a process that was frozen in the middle of a call.
   * @param epoch the new owner's; its numbers are above the fence
   */
  async stopFormerOwner(sessions: readonly Uint8Array[], epoch: number, signal: AbortSignal): Promise<void> {
    const txnNumber = BigInt(epoch) * numbersPerEpoch;
    for (let at = 0; at < sessions.length; at += fencesParallel) {
      await Promise.all(sessions.slice(at, at + fencesParallel).map((lsid) => this.raise(lsid, txnNumber, signal)));
    }
  }

  /**
   * A shard remembers a number only when the update changed its document. A shard that no longer knows the outcome
   * under the number (IncompleteTransactionHistory) has stored it.
   */
  async #send(ticket: WriteTicket, signal: AbortSignal): Promise<void> {
    const { n, failures } = await writeTicketed(this.destination.router, this.#write, ticket, signal);
    const stored = failures.filter(({ code }) => code === historyIncompleteCode).length;
    if (n + stored < this.#write.statements.length) {
      throw new ConvoyError(
        'internalError',
        'Documents of the fence are missing, so that a late write could still reach a shard.',
      );
    }
  }
}
