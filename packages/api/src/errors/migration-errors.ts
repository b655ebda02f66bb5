import { entriesOf } from './error-entry.js';

/** Failures of a running migration. */
export const migrationErrors = entriesOf(409, {
  verificationFailed: [
    'never',
    'The verifier found differences between source and destination. ' +
      'Read them from GET /api/v1/verification/mismatches.',
  ],
  oplogHistoryLost: [
    'never',
    "The source's oplog no longer reaches back to the checkpoint. Start again with a larger oplog.",
  ],
  wrongCluster: 'A connection string leads to a different cluster than at the start of the migration. Correct it.',
  topologyChanged: [
    'never',
    'Shards joined or left a cluster during the migration, and Convoy cannot follow that. Start again.',
  ],
  chunkMigrationSeen: [
    'never',
    'Chunks moved between source shards during the migration. Stop every balancer, or set keepBalancer, ' +
      'and start again.',
  ],
  primaryShardChanged: [
    'never',
    'The primary shard of a database changed during the migration, which Convoy cannot follow. Start again.',
  ],
  shardKeyChanged: [
    'never',
    'A collection was sharded, resharded or had its shard key refined during the migration, which Convoy cannot ' +
      'follow. Start again.',
  ],
  ddlNotSupported: ['never', 'Convoy cannot follow a DDL change of the source. Start again without such changes.'],
  renameAcrossDatabases: [
    'never',
    'A collection was renamed into another database. ' +
      'From a replica set to a sharded cluster, Convoy does not support this. Start again.',
  ],
  catalogDiffers: [
    'never',
    'Convoy cannot resolve a difference in collections, options or indexes between source and destination. ' +
      'Start again.',
  ],
  destinationChanged: [
    'never',
    'Something else changed the destination during the migration. Stop all other writers and start again.',
  ],
  uniqueIndexViolated: [
    'never',
    'Documents on the destination violate a unique index of the source. The description names the index.',
  ],
  documentTooLarge: [
    'never',
    'A document or event is too large for the destination. Shorten it on the source and start again.',
  ],
  writeRefused: [
    'never',
    'The destination rejected a write, and retrying does not help. The description has the error code.',
  ],
  cappedCollectionBusy:
    'A capped collection is overwritten faster than Convoy can copy it. Exclude it or slow its writers down.',
  memoryBoundExceeded: 'A single unit of work exceeds the memory limit. Raise the limit and resume.',
  retriesExhausted: 'An operation kept failing until its retry time limit. Remove the cause and resume.',
  writeBlockingFailed:
    'Convoy could not block or unblock user writes on the cluster that the description names. Check that cluster.',
  transactionsNotEnded: 'Source transactions did not end on all shards in time. End them, and commit a new migration.',
  sourceWritesAfterCommit: [
    'never',
    'Somebody wrote to the source after the commit time. ' +
      'The description counts the writes that the destination lacks.',
  ],
  commitRoundsExceeded:
    'The source received writes in every round of the commit. Stop the writers that bypass the block.',
});
