import type { ErrorEntry } from './error-entry.js';

/** The options do not fit together, or do not fit the clusters. */
export const optionErrors = {
  invalidConfiguration: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'The configuration has missing, unknown or wrong values; correct those that the description names.',
  },
  sourceEqualsDestination: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'Source and destination are the same cluster; name two different ones.',
  },
  clusterUnknown: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'Source or destination is not the name of a configured cluster; use cluster0 and cluster1.',
  },
  syncUserMismatch: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'A connection string has another user than the configured syncUser; make them agree.',
  },
  filterPatternInvalid: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence:
      'A pattern of the filter cannot be compiled by the linear-time engine; back-references and look-around are not available.',
  },
  buildIndexesNeverWithReversible: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'A reversible migration needs its indexes; leave out buildIndexes "never" or reversible.',
  },
  reversibleNeedsWriteBlocking: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'A reversible migration needs enableUserWriteBlocking; set it to true or leave out reversible.',
  },
  reversibleNeedsSource60: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'reversible needs a source of version 6.0 or later; leave it out.',
  },
  reversibleUnsupportedTopology: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'A migration from a replica set to a sharded cluster cannot be reversed; leave out reversible.',
  },
  reversibleNeedsEqualShardCounts: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence:
      'Source and destination have different numbers of shards, which a reverse cannot bridge; leave out reversible.',
  },
  writeBlockingNeedsSource60: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence:
      'enableUserWriteBlocking needs a source of version 6.0 or later; leave it out and stop the writers before commit.',
  },
  shardingRequired: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence:
      'A migration from a replica set to a sharded cluster needs the sharding option; an empty shardingEntries array shards nothing.',
  },
  shardingNotAllowed: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'The sharding option is only for a replica set that moves to a sharded cluster; leave it out.',
  },
  shardingEntryInvalid: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence:
      'A collection of shardingEntries cannot be sharded: it is no ordinary collection or is left out by the filter.',
  },
  shardingKeyIndexMissing: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence:
      'A requested shard key has no supporting index on the source; create it there or set createSupportingIndexes.',
  },
  shardingKeyCollation: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence:
      'The collection has a collation, and no index of the requested shard key has the simple one; create such an index.',
  },
  shardingKeyUniqueness: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'An index of the requested shard key has to be unique on the source already; declare it there.',
  },
  shardingIndexIncompatible: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence:
      'A unique index of the source does not begin with the requested shard key; choose another key or drop the index.',
  },
  featureNotAvailable: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'The description names an option that is not part of this version; leave it out.',
  },
  verificationNotSupported: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence:
      'Source or destination does not support the checks of the verifier; start with verification.enabled false.',
  },
  verificationMemoryInsufficient: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'The memory bound is too small for the verifier; raise it or start with verification.enabled false.',
  },
  ttlCollectionWithVerification: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence:
      'With buildIndexes "never" the verifier cannot follow a TTL collection; start with verification.enabled false.',
  },
  notReversible: {
    httpStatus: 422,
    retry: 'never',
    sentence: 'The migration was not started with reversible, so it cannot be reversed.',
  },
  reverseHistoryLost: {
    httpStatus: 422,
    retry: 'never',
    sentence:
      'An oplog no longer reaches back to the commit, so what was written since cannot be replayed on the former source.',
  },
  sourceChangedSinceCommit: {
    httpStatus: 422,
    retry: 'never',
    sentence: 'The former source was written to since the commit, so a reverse would not make the clusters equal.',
  },
} as const satisfies Record<string, ErrorEntry>;
