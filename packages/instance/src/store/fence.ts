import { BSON, type Document } from 'mongodb';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { CallOptions, Door, RawWrite, WriteTicket } from '../cluster/door.js';
import { classify } from '../cluster/failure.js';
import { refuseFailures } from './fenced-writer.js';
import type { Retrying } from '../cluster/retry.js';
import { metadataDatabase, throwWriteError } from './metadata.js';

const fenceCollection = 'fence';
/** Sessions fenced at the same time: they all change the same documents, so that more only wait for each other. */
const fencesParallel = 8;

/**
 * Stops a share's former owner: one majority update in each of its sessions, numbered by the new epoch, that changes
 * one document on every destination shard. From then on the servers refuse the former owner's numbers there
 * (TransactionTooOld), also those of a process that was frozen in the middle of a call.
 *
 * @param fenceIds `_id`s of the documents of the fence collection, one on each destination shard
 */
export async function fenceSessions(
  door: Door,
  retrying: Retrying,
  sessions: readonly Uint8Array[],
  epoch: number,
  fenceIds: readonly number[],
  signal: AbortSignal,
): Promise<void> {
  const txnNumber = BigInt(epoch) * 2n ** 32n;
  const statements = fenceIds.map((id) => BSON.serialize({ q: { _id: id }, u: { $inc: { fenced: 1 } } }));
  const write = { database: metadataDatabase, collection: fenceCollection, kind: 'update' as const, statements, ordered: false };
  const fence = (lsid: Uint8Array): Promise<void> => retrying('fence the former owner', () => sendFence(door, write, { lsid, txnNumber }, signal), signal);
  for (let at = 0; at < sessions.length; at += fencesParallel) await Promise.all(sessions.slice(at, at + fencesParallel).map(fence));
}

/** Only a document that was really changed holds on its shard: anything less is no fence. */
async function sendFence(door: Door, write: RawWrite, ticket: WriteTicket, signal: AbortSignal): Promise<void> {
  const outcome = await door.write(write, ticket, { signal }).catch((error: unknown) => {
    throw classify(error) === 'staleEpoch' ? new ConvoyError('staleEpoch') : error;
  });
  refuseFailures(outcome);
  if (outcome.n < write.statements.length) {
    throw new ConvoyError('internalError', 'The fence has lost documents, so that a former owner could still write to a shard.');
  }
}

/**
 * Makes the fence collection with one document on each shard: sharded by `_id` in as many ranges as there are shards.
 * May be repeated.
 * @throws MetadataWriteError when a document could not be written, as while routers learn of the new ranges
 * @param shardIds the destination's shards; on a replica set one document is enough and nothing is sharded
 */
export async function createFence(
  door: Door,
  kind: 'sharded' | 'replicaSet',
  shardIds: readonly string[],
  options: CallOptions,
): Promise<void> {
  const namespace = `${metadataDatabase}.${fenceCollection}`;
  if (kind === 'sharded' && (await isUnsharded(door, namespace, options))) {
    await placeRanges(door, namespace, shardIds, options);
  }
  const updates = shardIds.map((_, index) => ({ q: { _id: index }, u: { $setOnInsert: { fenced: 0 } }, upsert: true }));
  const command = { update: fenceCollection, updates, writeConcern: { w: 'majority' } };
  throwWriteError(await door.command(metadataDatabase, command, options));
}

async function isUnsharded(door: Door, namespace: string, options: CallOptions): Promise<boolean> {
  const reply = await door.command('config', { find: 'collections', filter: { _id: namespace, dropped: { $ne: true } }, limit: 1, singleBatch: true }, options);
  return (reply.cursor as { firstBatch: Document[] }).firstBatch.length === 0;
}

async function placeRanges(door: Door, namespace: string, shardIds: readonly string[], options: CallOptions): Promise<void> {
  const zones = shardIds.map((_, index) => `convoy_fence_${index}`);
  await door.command('admin', { enableSharding: metadataDatabase }, options);
  for (const [index, shard] of shardIds.entries()) {
    const range = {
      min: { _id: index === 0 ? new BSON.MinKey() : index },
      max: { _id: index === shardIds.length - 1 ? new BSON.MaxKey() : index + 1 },
    };
    await door.command('admin', { addShardToZone: shard, zone: zones[index] }, options);
    await door.command('admin', { updateZoneKeyRange: namespace, ...range, zone: zones[index] }, options);
  }
  await door.command('admin', { shardCollection: namespace, key: { _id: 1 } }, options);
  await removeZones(door, namespace, shardIds, options);
}

async function removeZones(door: Door, namespace: string, shardIds: readonly string[], options: CallOptions): Promise<void> {
  for (const [index, shard] of shardIds.entries()) {
    const range = {
      min: { _id: index === 0 ? new BSON.MinKey() : index },
      max: { _id: index === shardIds.length - 1 ? new BSON.MaxKey() : index + 1 },
    };
    await door.command('admin', { updateZoneKeyRange: namespace, ...range, zone: null }, options);
    await door.command('admin', { removeShardFromZone: shard, zone: `convoy_fence_${index}` }, options);
  }
}
