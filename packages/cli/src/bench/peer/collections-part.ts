import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import type { BenchmarkContext, Row } from '../benchmark.js';
import { BenchClusters } from '../copy/bench-clusters.js';
import { benchDocumentBytes } from '../copy/bench-documents.js';
import { copyBarely, makeCollections, type ManyCollections } from '../copy/many-collections.js';
import { collectionRows, type CollectionsStep } from './collection-rows.js';
import { copyWith } from './copy-run.js';
import type { ToolKind } from './migration-tool.js';

export const collectionCounts = [100, 1_000, 5_000] as const;
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
