import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { type Benchmark, type BenchmarkContext, type Row, rowMaker, withGoal } from '../benchmark.js';
import { BenchClusters, shards } from '../copy/bench-clusters.js';
import { benchDocumentBytes } from '../copy/bench-documents.js';
import { growthRows } from '../copy/growth-rows.js';
import { copyBarely, makeCollections, type ManyCollections } from '../copy/many-collections.js';
import { clusterSyncName } from './cluster-sync.js';
import { notVerified } from './convoy-tool.js';
import { type CopyRun, copyWith } from './copy-run.js';
import type { ToolKind } from './migration-tool.js';

const collectionCounts = [100, 1_000, 5_000] as const;
const documents = 20_000;

/** Copies of the same documents in more and more collections, by every tool, and by bare round trips. */
export async function measureCollections(
  kind: TestCluster['kind'],
  tools: readonly ToolKind[],
  context: BenchmarkContext,
): Promise<Row[]> {
  const { folder, log, scale, signal } = context;
  await using clusters = await BenchClusters.start(folder, kind);
  const steps: CollectionsStep[] = [];
  for (const count of collectionCounts) {
    const collections = Math.max(10, Math.round(count * scale));
    const wanted = { collections, documents, documentBytes: benchDocumentBytes };
    signal.throwIfAborted();
    log(`${wanted.collections} collections: creating them`);
    await makeCollections(clusters.sourceClient, clusters.source, wanted);
    log(`${wanted.collections} collections: bare round trips`);
    const bare_seconds = await copyBarely(clusters.sourceClient, clusters.destinationClient, wanted);
    const step: CollectionsStep = { count: wanted.collections, bare_seconds, tools: new Map() };
    for (const tool of tools) {
      signal.throwIfAborted();
      log(`${wanted.collections} collections: ${tool.name}`);
      await clusters.replaceDestination();
      step.tools.set(tool.name, await copyWith(tool, clusters, context));
      await requireAll(tool, clusters, wanted);
    }
    steps.push(step);
    await clusters.empty();
  }
  return collectionRows(steps);
}

async function requireAll({ name }: ToolKind, clusters: BenchClusters, wanted: ManyCollections): Promise<void> {
  const client = clusters.destinationClient;
  const { databases } = await client.db('admin').admin().listDatabases({ nameOnly: true });
  const copied = databases.filter((database) => database.name.startsWith('bench'));
  let [collections, objects] = [0, 0];
  for (const { name: database } of copied) {
    collections += (await client.db(database).listCollections({}, { nameOnly: true }).toArray()).length;
    objects += Number((await client.db(database).stats())['objects']);
  }
  if (collections === wanted.collections && objects === wanted.documents) return;
  throw new Error(
    `${name} copied ${objects} of ${wanted.documents} documents, ` +
      `and ${collections} of ${wanted.collections} collections.`,
  );
}

/** Allowed time of a copy of the most collections, as a multiple of ClusterSync's. */
const ofPeerMax = 1;

/** Copies of the same documents in one number of collections. */
export interface CollectionsStep {
  count: number;
  /** Duration of the minimal commands for these collections. */
  bare_seconds: number;
  /** By the name of the tool; one that was not there has none. */
  tools: Map<string, CopyRun>;
}

/** Cost of one more collection with each tool, and the largest copy beside ClusterSync's. */
export function collectionRows(steps: readonly CollectionsStep[]): Row[] {
  const names = [...(steps[0]?.tools.keys() ?? [])];
  return names.flatMap((name) => [...toolRows(name, steps), ...(name === clusterSyncName ? [] : ofPeer(name, steps))]);
}

function toolRows(name: string, steps: readonly CollectionsStep[]): Row[] {
  const growing = steps.flatMap(({ count, bare_seconds, tools }) => {
    const run = tools.get(name);
    return run === undefined ? [] : [{ count, bare_seconds, run }];
  });
  return growthRows('collection', growing).map((row) => ({ ...row, case: `${name}: ${row.case}` }));
}

function ofPeer(name: string, steps: readonly CollectionsStep[]): Row[] {
  const most = steps.at(-1);
  const [run, peer] = [most?.tools.get(name), most?.tools.get(clusterSyncName)];
  if (most === undefined || run === undefined || peer === undefined) return [];
  const row = (metric: string, value: number): Row =>
    rowMaker(`${name}: ${most.count} collections`)(metric, value, '×');
  return [
    withGoal(row(`time from start to copied of ${clusterSyncName}`, run.seconds / peer.seconds), '<=', ofPeerMax),
    row(`CPU of ${clusterSyncName}`, run.cpu_seconds / peer.cpu_seconds),
    row(`time from start to ready to commit of ${clusterSyncName}`, run.ready.seconds / peer.ready.seconds),
  ];
}

/** Cost of a collection besides its documents, between sharded clusters. */
export const copyCollectionsBenchmark: Benchmark = {
  name: 'copy-collections',
  description:
    `documents of 1 kB in ${collectionCounts.join(', ')} collections, ${shards} → ${shards} shards: cost per ` +
    'collection, compared with its bare round trips',
  run: (context) => measureCollections('sharded', [notVerified()], context),
};
