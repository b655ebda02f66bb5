import type { Benchmark, BenchmarkContext, Row } from '../benchmark.js';
import { BenchClusters, shards } from './bench-clusters.js';
import { type BenchCollection, fill, shardByHash } from './bench-documents.js';
import { type SizeMeasured, sizeRows } from './copy-rows.js';
import type { CopyResult, EngineResult } from './copy-result.js';
import { runEngine } from './engine-run.js';
import type { LoopConcurrency } from './loop-order.js';
import { runLoop } from './loop-run.js';

/**
 * Document sizes and the bytes to copy of each. Large enough that one-time costs of the engine's two processes, such as
 * compiling code, are a small part.
 */
const sizes = [
  { name: '200 B', documentBytes: 200, bytes: 160_000_000, promisesOverDecoding: false },
  { name: '1 kB', documentBytes: 1_000, bytes: 1_000_000_000, promisesOverDecoding: true },
  { name: '10 kB', documentBytes: 10_000, bytes: 1_000_000_000, promisesOverDecoding: false },
  { name: '1 MB', documentBytes: 1_000_000, bytes: 1_200_000_000, promisesOverDecoding: false },
] as const;

/** Forms of the bare loop; the best one counts. */
const concurrencies: readonly LoopConcurrency[] = [
  { readersPerShard: 1, writesPerReader: 1 },
  { readersPerShard: 1, writesPerReader: 3 },
  { readersPerShard: 2, writesPerReader: 2 },
  { readersPerShard: 4, writesPerReader: 2 },
  { readersPerShard: 4, writesPerReader: 4 },
];

/** All alternate, each round in another order, so that other load on the host affects all. */
const rounds = 3;

/** Speed of the engine's copy, compared with a minimal loop and with one that decodes. */
export const copyBenchmark: Benchmark = {
  name: 'copy',
  description:
    `documents of ${sizes.map(({ name }) => name).join(', ')}, ${shards} → ${shards} shards: ` +
    'the engine compared with a bare loop of raw reads and inserts, and a decoding copy',
  async run(context) {
    await using clusters = await BenchClusters.start(context.folder);
    const rows: Row[] = [];
    for (const size of sizes) {
      const documents = Math.max(100, Math.round((size.bytes * context.scale) / size.documentBytes));
      const collection: BenchCollection = {
        database: 'bench',
        collection: 'documents',
        documentBytes: size.documentBytes,
        documents,
      };
      context.log(`${size.name}: loading ${documents} documents`);
      await shardByHash(clusters.sourceClient, collection, shards);
      await fill(clusters.sourceClient, collection);
      const measured = await measureSize(clusters, collection, size.name, context);
      rows.push(...sizeRows({ ...measured, name: size.name, promisesOverDecoding: size.promisesOverDecoding }));
      await clusters.empty();
    }
    return rows;
  },
};

type Measured = Omit<SizeMeasured, 'name' | 'promisesOverDecoding'>;

async function measureSize(
  clusters: BenchClusters,
  collection: BenchCollection,
  name: string,
  context: BenchmarkContext,
): Promise<Measured> {
  const { folder, log, signal } = context;
  const sweep: Measured['sweep'] = [];
  for (const concurrency of concurrencies) {
    signal.throwIfAborted();
    log(`${name}: bare loop with ${concurrency.readersPerShard} × ${concurrency.writesPerReader}`);
    sweep.push({ concurrency, result: await runLoop(clusters, folder, collection, 'raw', concurrency) });
  }
  const best = fastest(sweep);
  const raw: CopyResult[] = [];
  const decoded: CopyResult[] = [];
  const engine: EngineResult[] = [];
  const turns = [
    async () => raw.push(await runLoop(clusters, folder, collection, 'raw', best)),
    async () => engine.push(await runEngine(clusters, context)),
    async () => decoded.push(await runLoop(clusters, folder, collection, 'decoded', best)),
  ];
  for (let round = 0; round < rounds; round += 1) {
    log(`${name}: round ${round + 1} of ${rounds}`);
    for (const index of turns.keys()) {
      signal.throwIfAborted();
      await turns[(index + round) % turns.length]?.();
    }
  }
  return {
    bytes: collection.documents * collection.documentBytes,
    documents: collection.documents,
    sweep,
    raw,
    engine,
    decoded,
  };
}

function fastest(sweep: Measured['sweep']): LoopConcurrency {
  return sweep.reduce((best, one) => (one.result.seconds < best.result.seconds ? one : best)).concurrency;
}
