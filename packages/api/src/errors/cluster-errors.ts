import type { ErrorEntry } from './error-entry.js';

/** The clusters do not support the migration in their current state. */
export const clusterErrors = {
  unsupportedServerVersion: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'Convoy does not support the version or feature compatibility version of a cluster. Upgrade the cluster.',
  },
  unsupportedTopology: {
    httpStatus: 422,
    retry: 'never',
    sentence:
      'A connection string leads to a standalone server or to a part of a cluster. Name a replica set, or the ' +
      'routers of a sharded cluster.',
  },
  shardUnknown: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'The configured id is not the name of a source shard. Use one that listShards shows.',
  },
  authenticationFailed: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence:
      'A cluster rejected the user or password of its connection string. ' +
      'Correct them, and percent-encode special characters.',
  },
  permissionMissing: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'The sync user lacks a privilege. Grant what the description names.',
  },
  timeSeriesNotSupported: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'The source has time-series collections, which are not supported. Exclude them.',
  },
  collectionNotSupported: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'Convoy cannot migrate this form of collection. Exclude it.',
  },
  indexNotSupported: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence:
      'The destination cannot build an index. Drop it on the source, exclude its collection, or set indexFailures.',
  },
  inconsistentIndexes: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence:
      'The source shards have different indexes for one collection. Make them equal first, or set indexConflicts.',
  },
  duplicateIdAcrossShards: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence:
      'Documents of one collection on different shards have the same _id, and the destination can hold only one. ' +
      'Remove the others.',
  },
  destinationNotEmpty: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'The destination already has user collections. Drop them or choose an empty cluster.',
  },
  balancerStillRunning: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'A balancer did not stop in time. Stop it and wait until its round has ended.',
  },
  shardsNotReachable: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence:
      'The instance cannot read the source shards directly. Make them reachable and configure credentials for them.',
  },
  metadataFromOlderRelease: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'A release before 2.0 stored the migration. Start an instance of this release to convert the state.',
  },
  metadataFromNewerRelease: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'A newer release started the migration. Continue with that release or a later one.',
  },
} as const satisfies Record<string, ErrorEntry>;
