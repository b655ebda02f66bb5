import { entriesOf } from './error-entry.js';

/** The clusters do not support the migration in their current state. */
export const clusterErrors = entriesOf(422, {
  unsupportedServerVersion:
    'Convoy does not support the version or feature compatibility version of a cluster. Upgrade the cluster.',
  unsupportedTopology: [
    'never',
    'A connection string leads to a standalone server or to a part of a cluster. Name a replica set, or the ' +
      'routers of a sharded cluster.',
  ],
  shardUnknown: 'The configured id is not the name of a source shard. Use one that listShards shows.',
  authenticationFailed:
    'A cluster rejected the user or password of its connection string. ' +
    'Correct them, and percent-encode special characters.',
  userWritesBlocked:
    "A cluster refuses the writes of users, Convoy's included. Have that block lifted, or let Convoy's user bypass it.",
  permissionMissing: 'The sync user lacks a privilege. Grant what the description names.',
  timeSeriesNotSupported: 'The source has time series that cannot be migrated. Exclude them.',
  collectionNotSupported: 'Convoy cannot migrate this form of collection. Exclude it.',
  indexNotSupported:
    'The destination cannot build an index. Drop it on the source, exclude its collection, or set indexFailures.',
  viewNotSupported:
    'A server refuses a view of the source. Correct or drop the view that the description names, or exclude it.',
  serverParameterInTheWay:
    'A server parameter prevents a migration. Change the one that the description names for the time of the migration.',
  shardDraining:
    'A shard of the destination is being removed. Wait until it is gone, or stop its removal, and start again.',
  inconsistentIndexes:
    'The source shards have different indexes for one collection. Make them equal first, or set indexConflicts.',
  duplicateIdAcrossShards:
    'Documents of one collection on different shards have the same _id, and the destination can hold only one. ' +
    'Remove the others.',
  destinationNotEmpty: 'The destination already has user collections. Drop them or choose an empty cluster.',
  balancerStillRunning: 'A balancer did not stop in time. Stop it and wait until its round has ended.',
  shardsNotReachable:
    'The instance cannot read the source shards directly. Make them reachable and configure credentials for them.',
  metadataFromOlderRelease:
    'A release before 2.0 stored the migration. Start an instance of this release to convert the state.',
  metadataFromNewerRelease: 'A newer release started the migration. Continue with that release or a later one.',
});
