import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { MongoClient } from 'mongodb';
import { indexStates } from '../../packages/instance/test/integration/ddl/index-states.js';

type States = Awaited<ReturnType<typeof indexStates>>;

/** The indexes of a collection on the primary of each shard that has it, with whether they are still being built. */
export async function indexesOnShards(
  cluster: TestCluster,
  database: string,
  name: string,
): Promise<Record<string, States>> {
  const found: Record<string, States> = {};
  for (const id of cluster.shardIds) {
    await using shard = new MongoClient(cluster.shardConnectionString(id));
    const collection = shard.db(database).collection(name);
    const exists = await shard.db(database).listCollections({ name }, { nameOnly: true }).hasNext();
    if (exists) found[id] = await indexStates(collection);
  }
  return found;
}

/** The names of a collection's indexes that any shard is still building. */
export async function unfinished(cluster: TestCluster, database: string, name: string): Promise<string[]> {
  const states = Object.values(await indexesOnShards(cluster, database, name));
  const named = states.flatMap((each) => Object.entries(each).filter(([, state]) => state === 'building'));
  return [...new Set(named.map(([index]) => index))].sort();
}
