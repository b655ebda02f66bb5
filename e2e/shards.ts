import { MongoClient, type Document } from 'mongodb';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';

/** Runs something on the primary of each shard, one after the other. */
export async function eachShard(cluster: TestCluster, run: (shard: MongoClient) => Promise<void>): Promise<void> {
  for (const id of cluster.shardIds) {
    const shard = new MongoClient(cluster.shardConnectionString(id));
    try {
      await run(shard);
    } finally {
      await shard.close();
    }
  }
}

/** Sends a command of the database `admin` to each shard. */
export function onShards(cluster: TestCluster, command: Document): Promise<void> {
  return eachShard(cluster, async (shard) => {
    await shard.db('admin').command(command);
  });
}
