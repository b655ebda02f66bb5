import type { Timestamp } from 'mongodb';
import { eachShard } from '../shards.js';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';

/** The times of the oldest and the latest entry of an oplog. */
export interface OplogEdges {
  oldest: Timestamp;
  latest: Timestamp;
}

/** What the oplog of each shard holds at the moment. */
export async function oplogEdges(cluster: TestCluster): Promise<OplogEdges[]> {
  const edges: OplogEdges[] = [];
  await eachShard(cluster, async (shard) => {
    const oplog = shard.db('local').collection<{ ts: Timestamp }>('oplog.rs');
    const edge = async (direction: 1 | -1): Promise<Timestamp> => {
      const [entry] = await oplog.find({}, { promoteValues: false }).sort({ $natural: direction }).limit(1).toArray();
      if (entry === undefined) throw new Error('The oplog is empty.');
      return entry.ts;
    };
    edges.push({ oldest: await edge(1), latest: await edge(-1) });
  });
  return edges;
}
