import type { Benchmark } from '../benchmark.js';
import { collectionCounts, measureCollections } from '../peer/collections-part.js';
import { notVerified } from '../peer/convoy-tool.js';
import { shards } from './bench-clusters.js';

/** Cost of a collection besides its documents, between sharded clusters. */
export const copyCollectionsBenchmark: Benchmark = {
  name: 'copy-collections',
  description:
    `documents of 1 kB in ${collectionCounts.join(', ')} collections, ${shards} → ${shards} shards: cost per ` +
    'collection, compared with its bare round trips',
  run: (context) => measureCollections('sharded', [notVerified()], context),
};
