import type { ErrorEntry } from './error-entry.js';

/** Failures of a running migration. */
export const migrationErrors = {
  verificationFailed: {
    httpStatus: 409,
    retry: 'never',
    sentence:
      'The verifier found differences between source and destination. ' +
      'Read them from GET /api/v1/verification/mismatches.',
  },
  oplogHistoryLost: {
    httpStatus: 409,
    retry: 'never',
    sentence: "The source's oplog no longer reaches back to the checkpoint. Start again with a larger oplog.",
  },
  wrongCluster: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'A connection string leads to a different cluster than at the start of the migration. Correct it.',
  },
  topologyChanged: {
    httpStatus: 409,
    retry: 'never',
    sentence: 'Shards joined or left a cluster during the migration, and Convoy cannot follow that. Start again.',
  },
  chunkMigrationSeen: {
    httpStatus: 409,
    retry: 'never',
    sentence:
      'Chunks moved between source shards during the migration. Stop every balancer, or set keepBalancer, ' +
      'and start again.',
  },
  primaryShardChanged: {
    httpStatus: 409,
    retry: 'never',
    sentence: 'The primary shard of a database changed during the migration, which Convoy cannot follow. Start again.',
  },
  shardKeyChanged: {
    httpStatus: 409,
    retry: 'never',
    sentence:
      'A collection was sharded, resharded or had its shard key refined during the migration, which Convoy cannot ' +
      'follow. Start again.',
  },
  ddlNotSupported: {
    httpStatus: 409,
    retry: 'never',
    sentence: 'Convoy cannot follow a DDL change of the source. Start again without such changes.',
  },
  renameAcrossDatabases: {
    httpStatus: 409,
    retry: 'never',
    sentence:
      'A collection was renamed into another database. ' +
      'From a replica set to a sharded cluster, Convoy does not support this. Start again.',
  },
  catalogDiffers: {
    httpStatus: 409,
    retry: 'never',
    sentence:
      'Convoy cannot resolve a difference in collections, options or indexes between source and destination. ' +
      'Start again.',
  },
  destinationChanged: {
    httpStatus: 409,
    retry: 'never',
    sentence: 'Something else changed the destination during the migration. Stop all other writers and start again.',
  },
  uniqueIndexViolated: {
    httpStatus: 409,
    retry: 'never',
    sentence: 'Documents on the destination violate a unique index of the source. The description names the index.',
  },
  documentTooLarge: {
    httpStatus: 409,
    retry: 'never',
    sentence: 'A document or event is too large for the destination. Shorten it on the source and start again.',
  },
  writeRefused: {
    httpStatus: 409,
    retry: 'never',
    sentence: 'The destination rejected a write, and retrying does not help. The description has the error code.',
  },
  cappedCollectionBusy: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'A capped collection is overwritten faster than Convoy can copy it. Exclude it or slow its writers down.',
  },
  memoryBoundExceeded: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'A single unit of work exceeds the memory limit. Raise the limit and resume.',
  },
  retriesExhausted: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'An operation kept failing until its retry time limit. Remove the cause and resume.',
  },
  writeBlockingFailed: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence:
      'Convoy could not block or unblock user writes on the cluster that the description names. Check that cluster.',
  },
  transactionsNotEnded: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'Source transactions did not end on all shards in time. End them, and commit a new migration.',
  },
  sourceWritesAfterCommit: {
    httpStatus: 409,
    retry: 'never',
    sentence:
      'Somebody wrote to the source after the commit time. ' +
      'The description counts the writes that the destination lacks.',
  },
  commitRoundsExceeded: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'The source received writes in every round of the commit. Stop the writers that bypass the block.',
  },
} as const satisfies Record<string, ErrorEntry>;
