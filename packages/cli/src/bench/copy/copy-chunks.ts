import type { Benchmark, BenchmarkContext, Row } from '../benchmark.js';
import { notVerified } from '../peer/convoy-tool.js';
import { copyWith } from '../peer/copy-run.js';
import { BenchClusters } from './bench-clusters.js';
import { type BenchCollection, benchDocumentBytes, benchNamespace, fill } from './bench-documents.js';
import { type GrowthStep, growthRows } from './growth-rows.js';
import { shardIntoChunks } from './many-chunks.js';

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
