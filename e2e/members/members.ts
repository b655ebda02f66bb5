import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import { MongoClient } from 'mongodb';

const electedWithin_ms = 60_000;

/** The member of a shard that is primary, and the others. */
export async function membersNow(cluster: TestCluster, shard: string): Promise<{ primary: string; others: string[] }> {
  const hosts = cluster.members.get(shard) ?? [];
  await using client = new MongoClient(cluster.shardConnectionString(shard));
  const { primary } = (await client.db('admin').command({ hello: 1 })) as { primary: string };
  return { primary, others: hosts.filter((host) => host !== primary) };
}

/** Waits until a shard has another primary than the former one. */
export async function untilAnotherLeads(cluster: TestCluster, shard: string, former: string): Promise<void> {
  await pollUntil(`${shard} has another primary`, electedWithin_ms, async () => {
    try {
      return (await membersNow(cluster, shard)).primary !== former;
    } catch {
      return false;
    }
  });
}
