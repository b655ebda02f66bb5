/**
 * What repeating the same call can lead to.
 * `never`: the migration or the call is over; `afterChange`: once what the description names was changed;
 * `automatic`: as it is, a little later (Convoy itself does so where it can).
 */
export type RetryClass = 'never' | 'afterChange' | 'automatic';

/** The status of a failure's reply: its class, as `docs/errors.md` explains it. */
export type FailureStatus = 400 | 401 | 403 | 404 | 405 | 409 | 413 | 422 | 500 | 503;

/** One failure that Convoy knows by name. */
export interface ErrorEntry {
  readonly httpStatus: FailureStatus;
  readonly retry: RetryClass;
  /** What happened and what to do; the description of a failure that has no closer one. */
  readonly sentence: string;
}

const requestErrors = {
  invalidHttpRequest: {
    httpStatus: 400,
    retry: 'afterChange',
    sentence: 'The request is not well-formed HTTP; send it again as HTTP/1.1 with a valid path and headers.',
  },
  invalidJson: {
    httpStatus: 400,
    retry: 'afterChange',
    sentence: 'The body is not JSON; send one JSON object in UTF-8.',
  },
  invalidRequest: {
    httpStatus: 400,
    retry: 'afterChange',
    sentence: 'The body has missing, unknown or wrong fields; correct those that the description names.',
  },
  unknownPath: {
    httpStatus: 404,
    retry: 'never',
    sentence: 'There is nothing at this path; the paths are listed by GET /api/v1/openapi.json.',
  },
  instanceUnknown: {
    httpStatus: 404,
    retry: 'afterChange',
    sentence: 'No instance of this name is registered; compare it with the instances that progress lists.',
  },
  methodNotAllowed: {
    httpStatus: 405,
    retry: 'never',
    sentence: 'This path does not take this method; the Allow header lists those that it takes.',
  },
  bodyTooLarge: {
    httpStatus: 413,
    retry: 'afterChange',
    sentence: 'The body is larger than the configured limit; shorten it or raise the limit.',
  },
} as const satisfies Record<string, ErrorEntry>;

const accessErrors = {
  unauthorized: {
    httpStatus: 401,
    retry: 'afterChange',
    sentence: 'The request has no valid bearer token; send the configured one in the Authorization header.',
  },
  hostNotAllowed: {
    httpStatus: 403,
    retry: 'afterChange',
    sentence: 'The Host header names a host that is not allowed; add it to allowedHosts if it is this service.',
  },
  readOnlyToken: {
    httpStatus: 403,
    retry: 'afterChange',
    sentence: 'The token may read and not command; send the one that is configured as token.',
  },
  originNotAllowed: {
    httpStatus: 403,
    retry: 'afterChange',
    sentence:
      'The request comes from a web page of another origin; add its host to allowedHosts if it may call this service.',
  },
} as const satisfies Record<string, ErrorEntry>;

const stateErrors = {
  notInThisState: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'The command is not allowed in the present state; read it from progress.',
  },
  commandInProgress: {
    httpStatus: 409,
    retry: 'automatic',
    sentence: 'Another command is being carried out; repeat this one when it has ended.',
  },
  optionsDiffer: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'The migration was started with other options on another instance; start this one with the same.',
  },
  cannotCommit: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'The migration cannot be committed yet; wait until canCommit is true.',
  },
  commandFailedOnInstances: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'At least one instance refused the command; the description names each with its reason.',
  },
  identityTaken: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'A live process already has this instance identifier; stop it or configure another id.',
  },
  addressTaken: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'Another program listens on the address and port already; end it or configure another port.',
  },
  staleEpoch: {
    httpStatus: 409,
    retry: 'never',
    sentence: 'Another process has taken over this identity, so this one has stopped writing; end it.',
  },
  migrationExists: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence:
      'The destination holds the state of another migration; remove it there with convoy cleanup once it is no longer needed.',
  },
  migrationLives: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'A migration is at work on these clusters; let it end, or stop its instances first.',
  },
  migrationFailed: {
    httpStatus: 409,
    retry: 'never',
    sentence:
      'The migration has failed; its data and state are kept for inspection. Before a new one, stop all instances, run convoy cleanup and empty the destination.',
  },
} as const satisfies Record<string, ErrorEntry>;

const optionErrors = {
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

const clusterErrors = {
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
  metadataFromNewerRelease: {
    httpStatus: 422,
    retry: 'afterChange',
    sentence: 'The migration was begun by a newer release; go on with that or a later one.',
  },
} as const satisfies Record<string, ErrorEntry>;

const migrationErrors = {
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

const availabilityErrors = {
  notReady: { httpStatus: 503, retry: 'automatic', sentence: 'The process is not ready yet; try again shortly.' },
  shuttingDown: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'The process is ending; try again when it has been started anew.',
  },
  requestTimedOut: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'No reply came within the time limit; read progress to see whether the command was carried out.',
  },
  instanceUnreachable: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'The address did not accept the request; check that the process runs and listens there.',
  },
  unexpectedReply: {
    httpStatus: 503,
    retry: 'afterChange',
    sentence:
      'The address answered with something that is not the contract; check that it is the service that was meant.',
  },
  commandTimedOut: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'Not every instance acknowledged the command in time; those that did keep it, and it may be repeated.',
  },
  fleetIncomplete: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'Not every instance of the fleet is registered; start the missing processes.',
  },
  sourceUnavailable: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'The source cluster cannot be reached; it is retried.',
  },
  destinationUnavailable: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'The destination cluster cannot be reached; it is retried.',
  },
  redisUnavailable: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'Redis cannot be reached; it is retried, and no data is lost meanwhile.',
  },
} as const satisfies Record<string, ErrorEntry>;

const internalErrors = {
  internalError: {
    httpStatus: 500,
    retry: 'never',
    sentence: 'Convoy met a defect of its own; the log of the process has the details.',
  },
} as const satisfies Record<string, ErrorEntry>;

/** The classes of failures in the order of `docs/errors.md`, whose headings are their keys. */
export const errorClasses = {
  request: requestErrors,
  access: accessErrors,
  state: stateErrors,
  options: optionErrors,
  clusters: clusterErrors,
  migration: migrationErrors,
  availability: availabilityErrors,
  internal: internalErrors,
} as const;

/** Every failure by its name. Names are stable: clients compare them. */
export const errorTable = {
  ...requestErrors,
  ...accessErrors,
  ...stateErrors,
  ...optionErrors,
  ...clusterErrors,
  ...migrationErrors,
  ...availabilityErrors,
  ...internalErrors,
} as const satisfies Record<string, ErrorEntry>;

/** The value of a failure body's `error`. */
export type ErrorName = keyof typeof errorTable;

/** Whether a text, for example one that came over the network, is a name of the table. */
export function isErrorName(text: string): text is ErrorName {
  return Object.hasOwn(errorTable, text);
}
