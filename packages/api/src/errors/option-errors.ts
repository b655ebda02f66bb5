import { entriesOf } from './error-entry.js';

/** The options contradict each other or do not fit the clusters. */
export const optionErrors = entriesOf(422, {
  invalidConfiguration:
    'The configuration has missing, unknown or invalid values. Correct those that the description names.',
  sourceEqualsDestination: 'Source and destination are the same cluster. Name two different ones.',
  clusterUnknown: 'Source or destination is not the name of a configured cluster. Use cluster0 and cluster1.',
  syncUserMismatch: 'A connection string has a different user than syncUser. Use the same user in both.',
  filterPatternInvalid:
    'The linear-time regex engine cannot compile a pattern of the filter. ' +
    'Do not use back-references or look-around.',
  documentFilterInvalid: 'A query of documentFilter cannot decide by a document alone. Use comparisons of fields only.',
  filterNamesServerDatabase:
    'includeNamespaces names admin, config or local: they belong to the cluster itself, and Convoy does not migrate ' +
    'their collections. Leave them out, and copy what you need of them by hand.',
  carryNotPossible:
    'carry asks for something that these clusters cannot give or take. Correct what the description names, or leave ' +
    'it out of carry.',
  carryWithNamespaceRemap:
    'Users, roles and query settings name databases, which namespaceRemap changes. ' +
    'Leave usersAndRoles and querySettings out of carry, or leave out namespaceRemap.',
  keepBalancerNeedsRouter:
    'keepBalancer needs a sharded source that Convoy reads through its routers. ' +
    'Set sourceAccess to router, or leave out keepBalancer.',
  naturalOrderNeedsDirectAccess:
    'copyInNaturalOrder and detectRandomId need a source whose shards Convoy reads directly. ' +
    'Set sourceAccess to direct, or leave both out.',
  documentFilterWithReversible: 'A reversible migration needs all documents. Leave out documentFilter or reversible.',
  namespaceRemapInvalid:
    'namespaceRemap does not give every namespace a name of its own that keeps its meaning. ' +
    'Correct its elements, or exclude the namespace.',
  namespaceRemapWithReversible: 'A reverse keeps the names of both clusters. Leave out namespaceRemap or reversible.',
  mergedZonesWithReversible:
    'The map of carry gives several shards of the source the same one, which a reverse cannot take back. ' +
    'Name each shard of the destination once, or leave out reversible.',
  buildIndexesNeverWithReversible:
    'A reversible migration needs its indexes. Leave out buildIndexes "never" or reversible.',
  excludeHashedWithReversible:
    'A reversible migration needs all indexes. Build the hashed ones too, or leave out reversible.',
  indexChoicesWithReversible:
    'A reversible migration needs equal indexes on both clusters. ' +
    'Leave out indexConflicts and indexFailures, or reversible.',
  reversibleNeedsWriteBlocking:
    'A reversible migration needs enableUserWriteBlocking. Set it to true or leave out reversible.',
  reversibleNeedsSource60: 'reversible needs a source of version 6.0 or later. Leave it out.',
  reversibleUnsupportedTopology:
    'A migration between a replica set and a sharded cluster cannot be reversed. Leave out reversible.',
  reversibleNeedsEqualShardCounts:
    'A reversible migration needs equal numbers of shards on source and destination. Leave out reversible.',
  writeBlockingNeedsDestination60:
    'enableUserWriteBlocking needs a destination of version 6.0 or later. ' +
    'Leave it out and keep users from writing there.',
  writeBlockingNeedsSource60:
    'enableUserWriteBlocking needs a source of version 6.0 or later. ' +
    'Leave it out and stop the writers before commit.',
  shardingRequired:
    'A migration from a replica set to a sharded cluster needs the sharding option. ' +
    'To shard nothing, send an empty shardingEntries array.',
  shardingNotAllowed:
    'The sharding option is only for migrations from a replica set to a sharded cluster. Leave it out.',
  shardingEntryInvalid:
    'A collection of shardingEntries is not an ordinary collection, or the filter excludes it. ' +
    'Correct or remove its entry.',
  shardingKeyIndexMissing:
    'A requested shard key has no supporting index on the source. Create it there or set createSupportingIndexes.',
  shardingKeyCollation:
    'The collection has a collation, and no index of the shard key has the simple collation. Create such an index.',
  shardingKeyUniqueness:
    'An index of the requested shard key must already be unique on the source. Make it unique there.',
  shardingIndexIncompatible:
    'A unique index of the source does not begin with the requested shard key. ' +
    'Choose another key or drop the index.',
  featureNotAvailable: 'This version does not have the option that the description names. Leave it out.',
  verificationNotSupported:
    'The verifier does not support the source or the destination. Start with verification.enabled false.',
  verificationMemoryInsufficient:
    'The memory limit is too small for the verifier. Raise it or start with verification.enabled false.',
  ttlCollectionWithVerification:
    'With buildIndexes "never" the verifier cannot follow a TTL collection. Start with verification.enabled false.',
  notReversible: ['never', 'The migration was started without reversible, so it cannot be reversed.'],
  reverseHistoryLost: [
    'never',
    'An oplog no longer reaches back to the commit, so Convoy cannot replay later writes on the former source.',
  ],
  sourceChangedSinceCommit: [
    'never',
    'Somebody wrote to the former source after the commit, so a reverse would leave the clusters different.',
  ],
});
