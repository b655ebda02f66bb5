import { MongoClient, type Document, type UUID } from 'mongodb';
import type { MigrationSide } from '@convoy/testbed/cluster/servers-of';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { isFullRun, needs } from '../requirements.js';

/** What these tests need: shapes that servers have from 8.0 on, and that the simulator knows in part. */
export const real80 = { version: [8, 0], real: true } as const;

/** The same for a shape of the destination alone, whose source may be older. */
export const real80Destination = { version: { source: [5, 0], destination: [8, 0] }, real: true } as const;

/** Whether a test of a shape of one side is skipped: only that side needs servers that have it. */
export function lacksShape(side: MigrationSide): boolean {
  return needs(side === 'source' ? real80 : real80Destination).skip;
}

export const twoShards = { source: { shards: 2 }, destination: { shards: 2 } };
/** Documents of the large collection. */
export const orders = isFullRun ? 5_000 : 500;

/** Sends a command to the database `admin` of the config server. */
export async function onConfigServer(cluster: TestCluster, command: Document): Promise<Document> {
  await using client = new MongoClient(cluster.configConnectionString ?? '');
  return await client.db('admin').command(command);
}

/** How many documents of a collection a shard itself has. */
export async function countOn(cluster: TestCluster, shard: string, namespace: string): Promise<number> {
  const [database = '', name = ''] = namespace.split('.');
  await using client = new MongoClient(cluster.shardConnectionString(shard));
  return await client.db(database).collection(name).countDocuments();
}

/** The shard that has an unsharded collection off its primary shard; null for one that never moved. */
export async function shardOf(client: MongoClient, namespace: string): Promise<string | null> {
  const config = client.db('config');
  const row = await config
    .collection<{ _id: string; uuid: UUID }>('collections')
    .findOne({ _id: namespace, unsplittable: true });
  if (row === null) return null;
  const chunk = await config.collection('chunks').findOne({ uuid: row.uuid });
  return (chunk?.['shard'] as string | undefined) ?? null;
}
