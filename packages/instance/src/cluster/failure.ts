import {
  type Document,
  MongoDriverError,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
  MongoSystemError,
} from 'mongodb';
import { NoAnswerError } from '../async/clock.js';

/** How the caller must handle a failure. */
type FailureKind =
  /** The same call may succeed a little later. */
  | 'retryable'
  /** The cursor is gone; it must be opened again. */
  | 'cursorLost'
  /** The time of a snapshot read is no longer (or, after a DDL change, not yet) readable. */
  | 'snapshotTooOld'
  /** The collection under an open cursor was renamed, dropped or changed. */
  | 'catalogChanged'
  /** The oplog no longer reaches back to the start of a stream. */
  | 'historyLost'
  /** A newer owner has fenced this session. */
  | 'staleEpoch'
  /** The server may have executed an earlier attempt of this write: its transaction record is incomplete. */
  | 'outcomeUnknown'
  | 'duplicateKey'
  /** The namespace or index does not exist. */
  | 'notFound'
  /** The user lacks a privilege or cannot log in. */
  | 'unauthorized'
  | 'fatal';

/** At the time of a snapshot read, the collection did not exist or had another name. */
export class CollectionAbsentError extends Error {
  override readonly name = 'CollectionAbsentError';
}

/** A cursor that cannot return the remaining documents; it must be opened again. */
export class CursorLostError extends Error {
  override readonly name = 'CursorLostError';
}

/**
 * A router read at a time before the last change of place of the collection or its database. It succeeds at a later
 * time, and never at this one.
 */
class TimeBeforePlacementError extends Error {
  override readonly name = 'TimeBeforePlacementError';
}

/** MigrationConflict: what a transaction or a read at a time needs has been at another shard since. */
const migrationConflictCode = 272;

const noSuchTransactionCode = 251;
/** Nothing of the transaction was written. */
const transientLabel = 'TransientTransactionError';

/** BSONObjectTooLarge: the result does not fit into any reply. */
export const objectTooLargeCode = 10_334;

/** The error of `$sample` when its random cursor found no new document in 100 tries. */
export const sampleFoundDuplicatesCode = 28_799;

/** The error of a write that violates a unique index, or of an upsert whose `_id` is taken. */
export const duplicateKeyCode = 11_000;

/** KeyNotFound: among others, of a scan that is to begin after a record that is gone. */
export const keyNotFoundCode = 211;

/** Unauthorized: the user lacks a privilege. */
export const unauthorizedCode = 13;

/** AuthenticationFailed: wrong user or password; servers do not say which. */
export const authenticationFailedCode = 18;

/**
 * IncompleteTransactionHistory: the error of a repeated statement whose transaction record the server lost, or which
 * was migrated without it.
 */
export const historyIncompleteCode = 217;

/**
 * The error of `appendOplogNote` if the node's global lock is not free within 1 ms: it steps down, or `fsync` has
 * locked it.
 */
export const lockFailedCode = 107;

/**
 * Server error codes by failure kind, from its `error_codes.yml` as of 8.3. Retryable are the codes that clients can
 * receive of the categories NetworkError, NotPrimaryError, ShutdownError, CancellationError, Interruption,
 * RetriableError, SystemOverloadedError and StaleShardVersionError. Codes that another client's action resolves are
 * also retryable.
 */
const codesByKind: Record<Exclude<FailureKind, 'fatal'>, Record<string, number>> = {
  retryable: {
    HostUnreachable: 6,
    HostNotFound: 7,
    LockTimeout: 24,
    LockBusy: 46,
    MaxTimeMSExpired: 50,
    StaleShardVersion: 63,
    WriteConcernTimeout: 64,
    // A router gives up a statement whose routing was stale five times, for example while a collection is being
    // sharded.
    NoProgressMade: 82,
    NetworkTimeout: 89,
    CallbackCanceled: 90,
    ShutdownInProgress: 91,
    UnsatisfiableWriteConcern: 100,
    LockFailed: lockFailedCode,
    WriteConflict: 112,
    ConflictingOperationInProgress: 117,
    FailedToSatisfyReadPreference: 133,
    ReadConcernMajorityNotAvailableYet: 134,
    CursorInUse: 143,
    PooledConnectionsDropped: 145,
    NoConfigPrimary: 149,
    StaleEpoch: 150,
    // The member that leads could not confirm it with a majority.
    LinearizableReadConcernError: 187,
    PrimarySteppedDown: 189,
    ReplicaSetMonitorRemoved: 199,
    // `moveChunk`: the shard still removes what it had of the range.
    ChunkRangeCleanupPending: 200,
    NetworkInterfaceExceededTimeLimit: 202,
    // Of a shard that has just started.
    ShardingStateNotInitialized: 203,
    // Config servers make the keys by which times are signed some time after a cluster has begun.
    CannotVerifyAndSignLogicalTime: 210,
    DatabaseDropPending: 215,
    KeyNotFound: keyNotFoundCode,
    ElectionInProgress: 216,
    RetryChangeStream: 234,
    StaleDbVersion: 249,
    NoSuchTransaction: noSuchTransactionCode,
    // The server removes unused sessions every five minutes.
    TooManyLogicalSessions: 261,
    ExceededTimeLimit: 262,
    // An operator may raise the limit of a server in the meantime.
    TooManyFilesOpen: 264,
    PreparedTransactionInProgress: 267,
    MigrationConflict: migrationConflictCode,
    // Setting a block of user writes aborts all index builds, even those of users who may bypass it.
    IndexBuildAborted: 276,
    // Servers wait for the other build themselves, but not in every command.
    IndexBuildAlreadyInProgress: 285,
    ClientDisconnect: 279,
    TransactionCoordinatorSteppingDown: 281,
    TransactionCoordinatorReachedAbortDecision: 282,
    TransactionExceededLifetimeLimitSeconds: 290,
    // Of tasks of a node that shuts down; the node passes them on.
    PeriodicJobIsStopped: 310,
    OperationIsKilledAndDelisted: 312,
    ObjectIsBusy: 314,
    ConnectionPoolExpired: 317,
    // Unsharded collections refuse writes while they move.
    MovePrimaryInProgress: 319,
    ServiceExecutorInShutdown: 333,
    // Another client reshards the collection, or adds or removes a shard: both end.
    ReshardCollectionInProgress: 338,
    ReshardingCriticalSectionTimeout: 342,
    ShardCannotRefreshDueToLocksHeld: 343,
    InterruptedDueToStorageChange: 355,
    // While the feature compatibility version changes.
    InternalTransactionNotSupported: 358,
    RetryableTransactionInProgress: 363,
    TemporarilyUnavailable: 365,
    ConnectionError: 384,
    ResourceExhausted: 402,
    MigrationBlockingOperationCoordinatorCleaningUp: 406,
    PooledConnectionAcquisitionExceededTimeLimit: 407,
    UpdatesStillPending: 412,
    AddOrRemoveShardInProgress: 414,
    AdmissionQueueOverflow: 433,
    RateLimitExceeded: 449,
    PooledConnectionAcquisitionRejected: 450,
    InterruptedDueToReshardingCriticalSection: 453,
    IngressRequestRateLimitExceeded: 462,
    SocketException: 9001,
    LegacyNotPrimary: 10058,
    // The server calls it sporadic: its random cursor found the same documents again and again.
    SampleFoundDuplicates: sampleFoundDuplicatesCode,
    NotWritablePrimary: 10107,
    // An operator may free space in the meantime: the warning names the cause from the first attempt on.
    OutOfDiskSpace: 14031,
    InterruptedAtShutdown: 11600,
    Interrupted: 11601,
    InterruptedDueToReplStateChange: 11602,
    StaleConfig: 13388,
    NotPrimaryNoSecondaryOk: 13435,
    // Servers refuse `collMod`, `renameCollection` and drops of other indexes while a collection builds an index.
    BackgroundOperationInProgressForDatabase: 12586,
    BackgroundOperationInProgressForNamespace: 12587,
    NotPrimaryOrSecondary: 13436,
    ClientMarkedKilled: 46841,
    BackupCursorOpenConflictWithCheckpoint: 50_915,
    ConfigServerUnreachable: 56_846,
    RetriableRemoteCommandFailure: 91331,
    InterruptedDueToFCVChange: 10_045_600,
  },
  cursorLost: { CursorNotFound: 43, CursorKilled: 237 },
  // A router reports StaleChunkHistory instead of the other two.
  snapshotTooOld: { SnapshotTooOld: 239, SnapshotUnavailable: 246, StaleChunkHistory: 250 },
  catalogChanged: { QueryPlanKilled: 175, CollectionUUIDMismatch: 361 },
  historyLost: { CappedPositionLost: 136, ChangeStreamFatalError: 280, ChangeStreamHistoryLost: 286 },
  staleEpoch: { TransactionTooOld: 225 },
  outcomeUnknown: { IncompleteTransactionHistory: historyIncompleteCode },
  duplicateKey: { DuplicateKey: duplicateKeyCode, DuplicateKeyOnUpdate: 11001, DuplicateKeyInCappedCollection: 12582 },
  notFound: { NamespaceNotFound: 26, IndexNotFound: 27 },
  unauthorized: {
    UserNotFound: 11,
    Unauthorized: unauthorizedCode,
    AuthenticationFailed: authenticationFailedCode,
    // The user may only log in from other addresses.
    AuthenticationRestrictionUnmet: 214,
    ReauthenticationRequired: 391,
    AtlasError: 8000,
  },
};

const kindByCode = new Map<number, FailureKind>(
  Object.entries(codesByKind).flatMap(([kind, codes]) =>
    Object.values(codes).map((code) => [code, kind as FailureKind] as const),
  ),
);

/** The failure kind of a server error code, also of a single statement. */
export function kindOfCode(code: number): FailureKind {
  return kindByCode.get(code) ?? 'fatal';
}

/** The server's code of a failure; null if it has none, as for network failures. */
export function codeOf(error: unknown): number | null {
  if (error instanceof MongoServerSelectionError && isWithoutApiVersion(error)) return apiVersionMissingCode;
  return error instanceof MongoServerError && typeof error.code === 'number' ? error.code : null;
}

/** Servers with `requireApiVersion` refuse the greeting too: the driver then finds none. */
function isWithoutApiVersion({ reason }: MongoServerSelectionError): boolean {
  const failures = [...(reason?.servers.values() ?? [])].map(({ error }) => error);
  return failures.some((failure) => failure instanceof MongoServerError && failure.code === apiVersionMissingCode);
}

/**
 * Whether a server is sure that it knows of no such transaction. Beside a failed write concern, as of a primary that is
 * just replaced, it gives no label: another member may have committed it (server source: isTransientTransactionError).
 */
export function hasNoTransaction(error: unknown): boolean {
  return codeOf(error) === noSuchTransactionCode && (error as MongoServerError).hasErrorLabel(transientLabel);
}

/** The error of a server that splits events, if one part does not fit into any reply. */
export const partTooLargeCode = 7_182_500;

/**
 * Whether the next event of a stream does not fit into any reply, for example for a document of 16 MB with a long
 * `_id`.
 */
export function isEventTooLarge(error: unknown): boolean {
  const code = codeOf(error);
  return code === objectTooLargeCode || code === partTooLargeCode;
}

/** Labels by which the server or the driver marks retryable errors; for codes that are not in the table. */
const retryableLabels = ['RetryableWriteError', 'RetryableError', transientLabel, 'SystemOverloadedError'];

/** The kind of a thrown value, by its class, code and labels, never by its text. */
export function classify(error: unknown): FailureKind {
  if (isNetworkFailure(error) || isPoolBusy(error)) return 'retryable';
  if (error instanceof CollectionAbsentError) return 'catalogChanged';
  if (error instanceof CursorLostError) return 'cursorLost';
  if (error instanceof TimeBeforePlacementError) return 'snapshotTooOld';
  if (!(error instanceof MongoServerError)) return 'fatal';
  const kind = kindByCode.get(codeOf(error) ?? NaN);
  if (kind !== undefined) return kind;
  return retryableLabels.some((label) => error.hasErrorLabel(label)) ? 'retryable' : 'fatal';
}

/** No connection became free in time; the driver does not export the class. */
function isPoolBusy(error: unknown): boolean {
  return error instanceof MongoDriverError && error.name === 'MongoWaitQueueTimeoutError';
}

/**
 * Node.js errors of a closed socket. The driver passes some of them on unchanged, for example for a write to a socket
 * that just closed.
 */
const socketCodes: ReadonlySet<unknown> = new Set([
  'EPIPE',
  'ECONNRESET',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ETIMEDOUT',
  'ERR_STREAM_DESTROYED',
]);

/** True if the node may or may not have executed the call. */
export function isNetworkFailure(error: unknown): boolean {
  if (codeOf(error) === apiVersionMissingCode) return false;
  return (
    error instanceof MongoNetworkError ||
    error instanceof MongoServerSelectionError ||
    error instanceof MongoSystemError ||
    error instanceof NoAnswerError ||
    (error instanceof Error && 'code' in error && socketCodes.has(error.code))
  );
}

const shutdownCodes = new Set([
  codesByKind.retryable.ShutdownInProgress,
  codesByKind.retryable.ServiceExecutorInShutdown,
  codesByKind.retryable.InterruptedAtShutdown,
]);

/** True if a failure is the node's fault: no connection, no answer, or it is shutting down. */
export function losesConnection(error: unknown): boolean {
  return isNetworkFailure(error) || shutdownCodes.has(codeOf(error) ?? undefined);
}

/**
 * What the failure of a read means. Routers of 8.0 refuse a read at a time before the last change of place with the
 * code that ends a transaction. That may be tried again at once, a read only at a later time.
 * @param command as it was sent
 */
export function failureOfRead(error: unknown, { readConcern }: Document): unknown {
  const isAtTime = (readConcern as Document | undefined)?.atClusterTime !== undefined;
  if (!isAtTime || codeOf(error) !== migrationConflictCode) return error;
  return new TimeBeforePlacementError('The collection or its database has changed its place since', { cause: error });
}

/** Whether a read may succeed at a later time: its own is too old, or the catalog has changed since. */
export function mayReadLater(error: unknown): boolean {
  return ['snapshotTooOld', 'catalogChanged'].includes(classify(error));
}

/** Codes for documents that an index cannot hold; servers have the same list. */
export const indexKeysCodes: ReadonlySet<number | null> = new Set([
  // CannotIndexParallelArrays, CannotBuildIndexKeys, field names that are ambiguous in arrays, hashed indexes
  171, 201, 16746, 16766,
  // text
  16675, 16732, 16733, 17261, 17262,
  // 2dsphere, 2d, geoHaystack
  16755, 16756, 13026, 13027, 13067, 13068, 16804, 16775, 16776,
]);

/** Whether a document cannot be in an index, so that the server refuses to build that. */
export function isRefusedByDocument(error: unknown): boolean {
  return indexKeysCodes.has(codeOf(error));
}

/** The name of an error's class; a name that was set by hand counts only if it looks like an identifier. */
export function className(error: Error): string {
  return /^\w{1,60}$/.test(error.name) ? error.name : error.constructor.name;
}

/** Describes a failure without any address, user or value: for logs and error descriptions. */
export function failureName(error: unknown): string {
  if (error instanceof MongoServerError) return `${error.codeName ?? error.name} (${error.code ?? 'no code'})`;
  if (!(error instanceof Error)) return typeof error;
  return 'code' in error && typeof error.code === 'number' ? `${className(error)} (${error.code})` : className(error);
}

/** Error codes with which servers refuse queries and commands about definitions: seen on 5.0.7, but for 359 and 370. */
export const serverErrorCode = {
  badValue: 2,
  failedToParse: 9,
  typeMismatch: 14,
  alreadyInitialized: 23,
  namespaceNotFound: 26,
  indexNotFound: 27,
  namespaceExists: 48,
  indexAlreadyExists: 68,
  invalidOptions: 72,
  indexOptionsConflict: 85,
  indexKeySpecsConflict: 86,
  commandNotSupportedOnView: 166,
  unsatisfiableCommitQuorum: 278,
  // 6.0 and later: from the servers' list of errors.
  cannotConvertIndexToUnique: 359,
  // 6.0 and later: from the servers' source.
  cannotDropShardKeyIndex: 370,
  duplicateKey: duplicateKeyCode,
  backgroundOperationInProgress: 12587,
  databaseDifferCase: 13297,
} as const;

/** Of a server with `requireApiVersion`, to every command without an API version. */
export const apiVersionMissingCode = 498_870;

/** NoQueryExecutionPlans: a query would read a whole collection, and `notablescan` forbids that. */
export const noQueryPlanCode = 291;

/** ShardNotFound: also of a shard that is draining, which gets no database and no zone. */
export const shardNotFoundCode = 70;

/** UserWritesBlocked: of every write and change of definitions by a user who may not bypass a block. */
export const userWritesBlockedCode = 371;

/** InvalidViewDefinition: an entry of `system.views` is malformed, and the server lists nothing of its database. */
export const invalidViewCode = 182;

/** The command by which an operator allows what `notablescan` forbids. */
export const notablescanOff = 'db.adminCommand({setParameter: 1, notablescan: false})';

/** What an operator does about `requireApiVersion`. */
export const requireApiVersionOff =
  'Set it to false on every node, with mongosh --apiVersion 1: ' +
  'db.adminCommand({setParameter: 1, requireApiVersion: false}).';
