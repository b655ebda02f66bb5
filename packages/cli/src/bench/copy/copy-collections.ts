import type { Benchmark } from '../benchmark.js';
import { BenchClusters } from './bench-clusters.js';
import { runEngine } from './engine-run.js';
import { type GrowthStep, growthRows } from './growth-rows.js';
import { copyBarely, makeCollections, type ManyCollections } from './many-collections.js';

const counts = [1, 100, 1_000, 5_000] as const;
const documents = 20_000;
const documentBytes = 1_000;

/** Cost of a collection besides its documents. */
export const copyCollectionsBenchmark: Benchmark = {
  name: 'copy-collections',
  description:
    `${documents} documents of 1 kB in ${counts.join(', ')} collections: cost per collection, compared with ` +
    'its bare round trips',
  async run(context) {
    await using clusters = await BenchClusters.start(context.folder);
    const steps: GrowthStep[] = [];
    for (const count of counts) {
      const wanted: ManyCollections = {
        collections: Math.max(1, Math.round(count * (count === 1 ? 1 : context.scale))),
        documents,
        documentBytes,
      };
      context.signal.throwIfAborted();
      context.log(`${wanted.collections} collections: creating them`);
      await makeCollections(clusters.sourceClient, clusters.source, wanted);
      context.log(`${wanted.collections} collections: bare round trips`);
      const bare_seconds = await copyBarely(clusters.sourceClient, clusters.destinationClient, wanted);
      context.log(`${wanted.collections} collections: engine`);
      steps.push({ count: wanted.collections, engine: await runEngine(clusters, context), bare_seconds });
      await clusters.empty();
    }
    return growthRows('collection', steps);
  },
};
