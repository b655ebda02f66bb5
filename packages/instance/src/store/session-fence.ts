import { BSON } from 'mongodb';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ClusterClient, RawWrite, WriteTicket } from '../cluster/node-client.js';
import { historyIncompleteCode } from '../cluster/failure.js';
import type { Retrying } from '../cluster/retry.js';
import { metadataDatabase } from './metadata.js';
import { numbersPerEpoch, writeTicketed } from './ticketed-write.js';

/** Has one document on each destination shard, with the shard's position as its `_id`. */
export const fenceCollection = 'fence';
/** Sessions fenced at the same time: they all change the same documents, so that more only wait for each other. */
const fencesParallel = 8;

/**
 * Closes server sessions to what was sent in them before: one majority update that changes one document on every shard of the
 * destination. From then on the servers refuse all lower numbers there (TransactionTooOld), also those that wait in a router.
 */
export class SessionFence {
  readonly #write: RawWrite;

  constructor(
    private readonly destination: Pick<ClusterClient, 'router' | 'shardIds'>,
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
   * @param txnNumber above those that are to be refused
   * @throws ConvoyError `staleEpoch` when another owner has fenced the session higher
   */
  async raise(lsid: Uint8Array, txnNumber: bigint, signal: AbortSignal): Promise<void> {
    await this.retrying('fence a session', () => this.#send({ lsid, txnNumber }, signal), signal);
  }

  /**
   * Stops a share's former owner, which may be a process that was frozen in the middle of a call.
   * @param epoch the new owner's; its own numbers lie above the fence
   */
  async stopFormerOwner(sessions: readonly Uint8Array[], epoch: number, signal: AbortSignal): Promise<void> {
    const txnNumber = BigInt(epoch) * numbersPerEpoch;
    for (let at = 0; at < sessions.length; at += fencesParallel) {
      await Promise.all(sessions.slice(at, at + fencesParallel).map((lsid) => this.raise(lsid, txnNumber, signal)));
    }
  }

  /**
   * Only a document that was really changed holds on its shard: anything less is no fence. A shard that no longer knows what it did
   * under the number has stored it.
   */
  async #send(ticket: WriteTicket, signal: AbortSignal): Promise<void> {
    const { n, failures } = await writeTicketed(this.destination.router, this.#write, ticket, signal);
    const stored = failures.filter(({ code }) => code === historyIncompleteCode).length;
    if (n + stored < this.#write.statements.length) {
      throw new ConvoyError(
        'internalError',
        'The fence has lost documents, so that a late write could still reach a shard.',
      );
    }
  }
}
