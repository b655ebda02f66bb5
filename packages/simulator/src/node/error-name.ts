import { unsimulated } from './unsimulated.js';

/** Names of the error codes that this simulation, its tests and Convoy know (server source: error_codes.yml). */
const table = `
  1 InternalError, 2 BadValue, 4 NoSuchKey, 5 GraphContainsCycle, 6 HostUnreachable, 7 HostNotFound, 8 UnknownError
  9 FailedToParse, 10 CannotMutateObject, 11 UserNotFound, 12 UnsupportedFormat, 13 Unauthorized, 14 TypeMismatch
  15 Overflow, 16 InvalidLength, 17 ProtocolError, 18 AuthenticationFailed, 19 CannotReuseObject, 20 IllegalOperation
  22 InvalidBSON, 23 AlreadyInitialized, 24 LockTimeout, 25 RemoteValidationError, 26 NamespaceNotFound
  27 IndexNotFound, 28 PathNotViable, 30 InvalidPath, 31 RoleNotFound, 32 RolesNotRelated, 34 CannotBackfillArray
  40 ConflictingUpdateOperators, 42 LogWriteFailed, 43 CursorNotFound, 46 LockBusy, 47 NoMatchingDocument
  48 NamespaceExists, 49 InvalidRoleModification, 50 MaxTimeMSExpired, 52 DollarPrefixedFieldName, 53 InvalidIdField
  54 NotSingleValueField, 55 InvalidDBRef, 56 EmptyFieldName, 57 DottedFieldName, 59 CommandNotFound
  61 ShardKeyNotFound, 63 StaleShardVersion, 64 WriteConcernFailed, 65 MultipleErrorsOccurred, 66 ImmutableField
  67 CannotCreateIndex, 68 IndexAlreadyExists, 70 ShardNotFound, 72 InvalidOptions, 73 InvalidNamespace
  79 UnknownReplWriteConcern, 80 RoleDataInconsistent, 82 NoProgressMade, 85 IndexOptionsConflict
  86 IndexKeySpecsConflict, 87 CannotSplit, 89 NetworkTimeout, 90 CallbackCanceled, 91 ShutdownInProgress
  96 OperationFailed, 100 UnsatisfiableWriteConcern, 101 OutdatedClient, 107 LockFailed, 112 WriteConflict
  115 CommandNotSupported, 117 ConflictingOperationInProgress, 118 NamespaceNotSharded, 120 OplogStartMissing
  121 DocumentValidationFailure, 125 CommandFailed, 127 UnrecoverableRollbackError, 128 LockNotFound
  130 SymbolNotFound, 133 FailedToSatisfyReadPreference, 134 ReadConcernMajorityNotAvailableYet
  136 CappedPositionLost, 140 InvalidSSLConfiguration, 143 CursorInUse, 145 PooledConnectionsDropped
  149 NoConfigPrimary, 150 StaleEpoch, 153 ChunkTooBig, 157 CanRepairToDowngrade, 159 DurationOverflow
  160 MaxStalenessOutOfRange, 163 ZoneStillInUse, 166 CommandNotSupportedOnView, 167 OptionNotSupportedOnView
  168 InvalidPipelineOperator, 169 CommandOnShardedViewNotSupportedOnMongod, 171 CannotIndexParallelArrays
  175 QueryPlanKilled, 177 ZoneNotFound, 178 RangeOverlapConflict, 180 BadPerfCounterPath
  181 AmbiguousIndexKeyPattern, 187 LinearizableReadConcernError, 189 PrimarySteppedDown, 192 FailPointEnabled
  197 InvalidIndexSpecificationOption, 199 ReplicaSetMonitorRemoved, 200 ChunkRangeCleanupPending
  201 CannotBuildIndexKeys, 202 NetworkInterfaceExceededTimeLimit, 203 ShardingStateNotInitialized
  204 TimeProofMismatch, 210 CannotVerifyAndSignLogicalTime, 211 KeyNotFound, 214 AuthenticationRestrictionUnmet
  215 DatabaseDropPending, 216 ElectionInProgress, 217 IncompleteTransactionHistory, 224 QueryFeatureNotAllowed
  225 TransactionTooOld, 234 RetryChangeStream, 235 InternalErrorNotSupported, 237 CursorKilled, 239 SnapshotTooOld
  241 ConversionFailure, 246 SnapshotUnavailable, 249 StaleDbVersion, 250 StaleChunkHistory, 251 NoSuchTransaction
  255 FreeMonHttpPermanentFailure, 256 TransactionCommitted, 260 InvalidResumeToken, 261 TooManyLogicalSessions
  262 ExceededTimeLimit, 263 OperationNotSupportedInTransaction, 264 TooManyFilesOpen, 266 FailPointSetFailed
  267 PreparedTransactionInProgress, 269 DataModifiedByRepair, 270 RepairedReplicaSetNode, 272 MigrationConflict
  276 IndexBuildAborted, 279 ClientDisconnect, 280 ChangeStreamFatalError, 281 TransactionCoordinatorSteppingDown
  282 TransactionCoordinatorReachedAbortDecision, 283 WouldChangeOwningShard, 285 IndexBuildAlreadyInProgress
  286 ChangeStreamHistoryLost, 290 TransactionExceededLifetimeLimitSeconds
  300 RangeDeletionAbandonedBecauseCollectionWithUUIDDoesNotExist, 310 PeriodicJobIsStopped
  312 OperationIsKilledAndDelisted, 314 ObjectIsBusy, 317 ConnectionPoolExpired, 319 MovePrimaryInProgress
  333 ServiceExecutorInShutdown, 334 MechanismUnavailable, 338 ReshardCollectionInProgress
  342 ReshardingCriticalSectionTimeout, 343 ShardCannotRefreshDueToLocksHeld, 355 InterruptedDueToStorageChange
  358 InternalTransactionNotSupported, 361 CollectionUUIDMismatch, 363 RetryableTransactionInProgress
  365 TemporarilyUnavailable, 370 CannotDropShardKeyIndex, 371 UserWritesBlocked, 384 ConnectionError
  402 ResourceExhausted, 406 MigrationBlockingOperationCoordinatorCleaningUp
  407 PooledConnectionAcquisitionExceededTimeLimit, 412 UpdatesStillPending, 414 AddOrRemoveShardInProgress
  433 AdmissionQueueOverflow, 449 RateLimitExceeded, 450 PooledConnectionAcquisitionRejected
  453 InterruptedDueToReshardingCriticalSection, 462 IngressRequestRateLimitExceeded, 9001 SocketException
  10003 CannotGrowDocumentInCappedNamespace, 10058 LegacyNotPrimary, 10107 NotWritablePrimary
  10334 BSONObjectTooLarge, 11000 DuplicateKey, 11600 InterruptedAtShutdown, 11602 InterruptedDueToReplStateChange
  13297 DatabaseDifferCase, 13388 StaleConfig, 13435 NotPrimaryNoSecondaryOk, 13436 NotPrimaryOrSecondary
  14031 OutOfDiskSpace, 46841 ClientMarkedKilled, 50768 NotARetryableWriteCommand
`;

const names: ReadonlyMap<number, string> = new Map(
  [...table.matchAll(/(\d+) (\w+)/g)].map(([, code, name = '']): [number, string] => [Number(code), name]),
);

/** From here on most codes have no name. */
const locationsMin = 9000;

/**
 * The name of an error code. Codes without one are named by their location.
 * @throws CommandError 115 for a code whose name is not known here
 */
export function errorName(code: number): string {
  const name = names.get(code);
  if (name === undefined && code > 0 && code < locationsMin) throw unsimulated(`error code ${code}`);
  return name ?? `Location${code}`;
}
