import { BSON, type Document, type MongoClient } from 'mongodb';
import type { BenchCollection } from './bench-documents.js';

const zonePrefix = 'bench_';

/** Bounds of `chunks` equal ranges of the whole numbers below `documents`. */
export function chunkRanges(documents: number, chunks: number): { min: Document; max: Document }[] {
  const bound = (index: number): Document => ({
    _id:
      index === 0 ? new BSON.MinKey() : index === chunks ? new BSON.MaxKey() : Math.floor((documents * index) / chunks),
  });
  return Array.from({ length: chunks }, (_, index) => ({ min: bound(index), max: bound(index + 1) }));
}

/**
 * Shards the empty collection by `_id` into that many chunks, by zones as Convoy does: two commands per range.
 * @param neighbours number of consecutive chunks on one shard
 * @returns seconds
 */
export async function shardIntoChunks(
  client: MongoClient,
  shardIds: readonly string[],
  { database, collection, documents }: BenchCollection,
  chunks: number,
  neighbours: number,
): Promise<number> {
  const begin = performance.now();
  const admin = client.db('admin');
  const namespace = `${database}.${collection}`;
  await admin.command({ balancerStop: 1 });
  await admin.command({ enableSharding: database });
  for (const shard of shardIds) await admin.command({ addShardToZone: shard, zone: `${zonePrefix}${shard}` });
  const ranges = chunkRanges(documents, chunks);
  for (const [index, range] of ranges.entries()) {
    const shard = shardIds[Math.floor(index / neighbours) % shardIds.length] ?? '';
    await admin.command({ updateZoneKeyRange: namespace, ...range, zone: `${zonePrefix}${shard}` });
  }
  await admin.command({ shardCollection: namespace, key: { _id: 1 } });
  for (const range of ranges) await admin.command({ updateZoneKeyRange: namespace, ...range, zone: null });
  for (const shard of shardIds) await admin.command({ removeShardFromZone: shard, zone: `${zonePrefix}${shard}` });
  return (performance.now() - begin) / 1000;
}
