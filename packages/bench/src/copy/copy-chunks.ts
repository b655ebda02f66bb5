import type { Benchmark, BenchmarkContext, Row } from '../benchmark.js';
import { notVerified } from '../peer/convoy-tool.js';
import { copyWith } from '../peer/copy-run.js';
import { BenchClusters } from './bench-clusters.js';
import { type BenchCollection, benchDocumentBytes, benchNamespace, fill } from './bench-documents.js';
import { growthRows, type GrowthStep } from './growth-rows.js';
import { BSON, type Document, type MongoClient } from 'mongodb';

const zonePrefix = 'bench_';

/** Bounds of `chunks` equal ranges of the whole numbers below `documents`. */
function chunkRanges(documents: number, chunks: number): { min: Document; max: Document }[] {
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
async function shardIntoChunks(
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

const counts = [10, 1_000, 10_000] as const;
const collection: BenchCollection = {
  ...benchNamespace,
  documentBytes: benchDocumentBytes,
  documents: 20_000,
};

/** Cost of a chunk besides its documents, with neighbouring chunks on one shard or on different ones. */
export const copyChunksBenchmark: Benchmark = {
  name: 'copy-chunks',
  description:
    `${collection.documents} documents of 1 kB in ${counts.join(', ')} chunks: cost per chunk, compared with ` +
    'its bare round trips',
  async run(context) {
    await using clusters = await BenchClusters.start(context.folder);
    return [
      ...(await measure(clusters, 'in runs of 50', 50, context)),
      ...(await measure(clusters, 'in turns', 1, context)),
    ];
  },
};

async function measure(
  clusters: BenchClusters,
  name: string,
  neighbours: number,
  context: BenchmarkContext,
): Promise<Row[]> {
  const steps: GrowthStep[] = [];
  for (const count of counts) {
    const chunks = Math.max(10, Math.round(count * context.scale));
    context.signal.throwIfAborted();
    context.log(`${chunks} chunks ${name}: bare round trips`);
    const bare_seconds = await shardIntoChunks(
      clusters.sourceClient,
      clusters.source.shardIds,
      collection,
      chunks,
      neighbours,
    );
    await fill(clusters.sourceClient, collection);
    context.log(`${chunks} chunks ${name}: engine`);
    steps.push({ count: chunks, run: await copyWith(notVerified(), clusters, context), bare_seconds });
    await clusters.empty();
  }
  return growthRows('chunk', steps).map((row) => ({ ...row, case: `${name}: ${row.case}` }));
}
