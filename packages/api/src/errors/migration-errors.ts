import type { ErrorEntry } from './error-entry.js';

/** A running migration has failed. */
export const migrationErrors = {
  verificationFailed: {
    httpStatus: 409,
    retry: 'never',
    sentence:
      'The verifier found differences between source and destination; read them from GET /api/v1/verification/mismatches.',
  },
  oplogHistoryLost: {
    httpStatus: 409,
    retry: 'never',
    sentence: 'The oplog of the source no longer reaches back to the checkpoint; start anew with a larger one.',
  },
  wrongCluster: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'A connection string leads to another cluster than the one the migration was begun with; correct it.',
  },
  topologyChanged: {
    httpStatus: 409,
    retry: 'never',
    sentence: 'Shards were added to or removed from a cluster during the migration, which cannot be followed.',
  },
  chunkMigrationSeen: {
    httpStatus: 409,
    retry: 'never',
    sentence: 'Chunks moved between shards of the source during the migration; stop every balancer and start anew.',
  },
  primaryShardChanged: {
    httpStatus: 409,
    retry: 'never',
    sentence: 'A database got another primary shard during the migration, which cannot be followed; start anew.',
  },
  shardKeyChanged: {
    httpStatus: 409,
    retry: 'never',
    sentence:
      'A collection was sharded, resharded or its shard key refined during the migration, which cannot be followed; start anew.',
  },
  ddlNotSupported: {
    httpStatus: 409,
    retry: 'never',
    sentence: 'A change of a definition on the source cannot be followed; start anew without such changes.',
  },
  renameAcrossDatabases: {
    httpStatus: 409,
    retry: 'never',
    sentence:
      'A collection was renamed into another database, which a migration from a replica set to a sharded cluster does not support.',
  },
  catalogDiffers: {
    httpStatus: 409,
    retry: 'never',
    sentence:
      'Collections, options or indexes of source and destination differ in a way that cannot be brought into line.',
  },
  destinationChanged: {
    httpStatus: 409,
    retry: 'never',
    sentence:
      'Somebody else has changed the destination during the migration; keep all others from writing to it and start anew.',
  },
  uniqueIndexViolated: {
    httpStatus: 409,
    retry: 'never',
    sentence: 'Documents on the destination violate a unique index of the source; the description names the index.',
  },
  documentTooLarge: {
    httpStatus: 409,
    retry: 'never',
    sentence:
      'A document or event is larger than what the destination can take; shorten it on the source and start anew.',
  },
  writeRefused: {
    httpStatus: 409,
    retry: 'never',
    sentence:
      'The destination refused a write for a reason that repeating does not mend; the description has its code.',
  },
  cappedCollectionBusy: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'A capped collection is overwritten faster than it can be copied; exclude it or slow down its writers.',
  },
  memoryBoundExceeded: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'A single unit of work does not fit into the memory bound; raise it and resume.',
  },
  retriesExhausted: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'An operation failed for longer than it may be retried; remove its cause and resume.',
  },
  writeBlockingFailed: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'User writes could not be blocked or allowed again on a cluster; see which one in the description.',
  },
  transactionsNotEnded: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'Transactions on the source have not ended on all shards in time; end them, and commit a new migration.',
  },
  sourceWritesAfterCommit: {
    httpStatus: 409,
    retry: 'never',
    sentence:
      'The source was written to after the commit time; the description counts the writes that the destination does not have.',
  },
  commitRoundsExceeded: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'The source was written to in every round of the commit; stop the writers that bypass the block.',
  },
} as const satisfies Record<string, ErrorEntry>;
