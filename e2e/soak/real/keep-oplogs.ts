import { writeFileSync } from 'node:fs';
import { BSON, MongoClient } from 'mongodb';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { database } from '../source-collections.js';
import { type RealClusters, realSides } from './real-clusters.js';

/**
 * Writes the entries of all shards' oplogs about the users' database beside the logs.
 */
export async function keepOplogs(clusters: RealClusters, folder: ScratchFolder): Promise<void> {
  const isOfUsers = {
    $or: [{ ns: { $regex: `^${database}\\.` } }, { 'o.applyOps.ns': { $regex: `^${database}\\.` } }],
  };
  for (const side of realSides) {
    for (const shardId of clusters[side].shardIds) {
      await using shard = new MongoClient(clusters[side].shardConnectionString(shardId));
      const entries = await shard
        .db('local')
        .collection('oplog.rs')
        .find(isOfUsers, { promoteValues: false })
        .toArray();
      writeFileSync(
        folder.file(`oplog-${side}-${shardId}.jsonl`),
        entries.map((entry) => `${BSON.EJSON.stringify(entry, { relaxed: false })}\n`).join(''),
      );
    }
  }
}
