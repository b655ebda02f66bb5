import type { ErrorEntry } from './error-entry.js';

/** The clusters do not allow a migration as they are. */
export const clusterErrors = {
  unsupportedServerVersion: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'A cluster runs a version or feature compatibility version that Convoy does not support; upgrade it.',
  },
  unsupportedTopology: {
    httpStatus: 422,
    retry: 'never',
    sentence:
      'This pair of cluster types is not supported: a sharded cluster cannot move to a replica set, and a standalone server to nothing.',
  },
  shardUnknown: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'The configured id is not the name of a shard of the source; use one that listShards shows.',
  },
  authenticationFailed: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence:
      'A cluster refused user or password of its connection string; correct them, and percent-encode special characters.',
  },
  permissionMissing: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'The sync user lacks a privilege; grant what the description names.',
  },
  timeSeriesNotSupported: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'The source has time-series collections, which are not supported; exclude them.',
  },
  collectionNotSupported: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'A collection has a form that cannot be migrated; exclude it.',
  },
  indexNotSupported: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'An index cannot be built on the destination; drop it on the source or exclude its collection.',
  },
  inconsistentIndexes: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'The shards of the source have different indexes for one collection; make them equal first.',
  },
  duplicateIdAcrossShards: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence:
      'Documents of one collection on different shards have the same _id, and the destination cannot hold both; remove one.',
  },
  destinationNotEmpty: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'The destination already has user collections; drop them or choose an empty cluster.',
  },
  diskSpaceInsufficient: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'The destination has too little disk space for the data of the source; add some.',
  },
  oplogWindowTooSmall: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'The oplog of the source reaches too short a time back; enlarge it.',
  },
  balancerStillRunning: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'A balancer could not be brought to rest; stop it and wait for its round to end.',
  },
  shardsNotReachable: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence:
      'The instance cannot read the shards of the source directly; make them reachable and give it credentials for them.',
  },
  metadataFromOlderRelease: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'A release before 2.0 has stored the migration; start an instance of this release to take it over.',
  },
  metadataFromNewerRelease: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'The migration was begun by a newer release; go on with that or a later one.',
  },
} as const satisfies Record<string, ErrorEntry>;
