import { BSON, type Document } from 'mongodb';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Retrying } from '../async/retry.js';
import { mapBounded } from '../async/together.js';
import { secondsOf } from '../cluster/cluster-time.js';
import { historyIncompleteCode } from '../cluster/failure.js';
import type { CallOptions, NodeClient, RawWrite, WriteTicket } from '../cluster/node-client.js';
import { numbersPerEpoch, writeTicketed } from './fenced-writer.js';
import { metadataDatabase, throwWriteError } from './metadata.js';
import type { MigrationRecord } from './migration-record.js';

/**
 * Creates the fence collection with one document on each shard: sharded by `_id`, one range per shard. Repeatable.
 * @throws MetadataWriteError when a document could not be written, as while routers do not know the new ranges
 * @param shardIds the destination's shards; a replica set has one document in an unsharded collection
 */
export async function createFence(
  client: NodeClient,
  kind: 'sharded' | 'replicaSet',
  shardIds: readonly string[],
  options: CallOptions,
): Promise<void> {
  const namespace = `${metadataDatabase}.${fenceCollection}`;
  if (kind === 'sharded') await placeRanges(client, namespace, shardIds, options);
  const updates = shardIds.map((_, index) => ({ q: { _id: index }, u: { $setOnInsert: { fenced: 0 } }, upsert: true }));
  const command = { update: fenceCollection, updates, writeConcern: { w: 'majority' } };
  throwWriteError(await client.command(metadataDatabase, command, options));
}

async function isUnsharded(client: NodeClient, namespace: string, options: CallOptions): Promise<boolean> {
  const reply = await client.command(
    'config',
    { find: 'collections', filter: { _id: namespace, dropped: { $ne: true } }, limit: 1, singleBatch: true },
    options,
  );
  return (reply.cursor as { firstBatch: Document[] }).firstBatch.length === 0;
}

/**
 * Zones place one range on each shard, and are removed again: those of a leader that ended in between, too. Their names
 * are no collection's, since the leader makes the collections of users meanwhile.
 */
async function placeRanges(
  client: NodeClient,
  namespace: string,
  shardIds: readonly string[],
  options: CallOptions,
): Promise<void> {
  const send = (command: Document): Promise<Document> => client.command('admin', command, options);
  const ranges = shardIds.map((shard, index) => {
    const min = { _id: index === 0 ? new BSON.MinKey() : index };
    const max = { _id: index === shardIds.length - 1 ? new BSON.MaxKey() : index + 1 };
    return { shard, zone: `${namespace}.${index}`, range: { updateZoneKeyRange: namespace, min, max } };
  });
  if (await isUnsharded(client, namespace, options)) {
    await send({ enableSharding: metadataDatabase });
    await mapBounded(ranges, rangesParallel, async ({ shard, zone, range }) => {
      await send({ addShardToZone: shard, zone });
      await send({ ...range, zone });
    });
    await send({ shardCollection: namespace, key: { _id: 1 } });
  }
  await mapBounded(ranges, rangesParallel, async ({ shard, zone, range }) => {
    await send({ ...range, zone: null });
    await send({ removeShardFromZone: shard, zone });
  });
}

/** Has one document on each destination shard; its `_id` is the shard's position. */
const fenceCollection = 'fence';
/** Ranges placed at the same time: the config servers take one zone command after the other. */
const rangesParallel = 8;
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

/** Numbers of data writes have room for epochs below this. */
const epochsMax = 2 ** 31;

/**
 * Where the epochs of a migration begin: no earlier migration with its state on this cluster has used them, unless it
 * had an owner each second.
 * @param time of the cluster that holds the state, when the migration begins
 */
export function firstEpochAt(time: bigint): number {
  return secondsOf(time) % epochsMax;
}

/** Whether another leader, or owner of the task, had an epoch before this one. */
export function hasPredecessor({ firstEpoch = 0 }: Pick<MigrationRecord, 'firstEpoch'>, epoch: number): boolean {
  return epoch > firstEpoch + 1;
}
