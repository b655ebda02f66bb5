import {
  MongoDriverError,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
  MongoSystemError,
} from 'mongodb';
import { NoAnswerError } from './call-scope.js';

/** What a failure means for whoever met it. */
export type FailureKind =
  /** The same call may succeed a little later. */
  | 'retryable'
  /** The cursor is gone; it has to be opened again. */
  | 'cursorLost'
  /** The time of a snapshot read is no longer (or, after a catalog change, not yet) readable. */
  | 'snapshotTooOld'
  /** The collection under an open cursor was renamed, dropped or changed. */
  | 'catalogChanged'
  /** The oplog no longer reaches back to where a stream was to begin. */
  | 'historyLost'
  /** A newer owner has fenced this session. */
  | 'staleEpoch'
  /** A write that was sent before under its number may have been carried out or not: the server's record of it is not whole. */
  | 'outcomeUnknown'
  | 'duplicateKey'
  /** The namespace or index does not exist. */
  | 'notFound'
  /** The user lacks a privilege or cannot log in. */
  | 'unauthorized'
  | 'fatal';

/** The collection did not exist, or not under that name, at the time of a snapshot read. */
export class CollectionAbsentError extends Error {
  override readonly name = 'CollectionAbsentError';
}

/** A cursor that can bring nothing more, though there is more; it has to be opened again. */
export class CursorLostError extends Error {
  override readonly name = 'CursorLostError';
}

/** BSONObjectTooLarge: what is asked for fits into no reply. */
export const objectTooLargeCode = 10_334;

/** What `$sample` answers when its random cursor found no new document in 100 tries. */
export const sampleFoundDuplicatesCode = 28_799;

/** What a server answers to a write that a unique index refuses, or an upsert whose `_id` is taken. */
export const duplicateKeyCode = 11_000;

/** Unauthorized: the user lacks a privilege. */
export const unauthorizedCode = 13;

/** AuthenticationFailed: the user is unknown or has another password; servers do not tell which. */
export const authenticationFailedCode = 18;

/** IncompleteTransactionHistory: what a server answers to a repeated statement whose record it has lost, or that was moved without it. */
export const historyIncompleteCode = 217;

/** What `appendOplogNote` answers when the node's global lock is not free within 1 ms: it steps down, or is locked by `fsync`. */
export const lockFailedCode = 107;

/**
 * Error codes of the server by what they mean here, from its `error_codes.yml` as of 8.3. Retryable are those of the categories
 * NetworkError, NotPrimaryError, ShutdownError, CancellationError, Interruption, RetriableError, SystemOverloadedError and
 * StaleShardVersionError that a client can be answered, and those that pass with what somebody else does.
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
    // A router gives statements up whose routing was stale five times, as while a collection has just been sharded.
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
    StaleEpoch: 150,
    PrimarySteppedDown: 189,
    ReplicaSetMonitorRemoved: 199,
    NetworkInterfaceExceededTimeLimit: 202,
    DatabaseDropPending: 215,
    KeyNotFound: 211,
    ElectionInProgress: 216,
    RetryChangeStream: 234,
    StaleDbVersion: 249,
    NoSuchTransaction: 251,
    // Sessions that nobody uses are removed every five minutes.
    TooManyLogicalSessions: 261,
    ExceededTimeLimit: 262,
    PreparedTransactionInProgress: 267,
    MigrationConflict: 272,
    // A block of user writes ends all index builds when it is set, also those of users who may go on.
    IndexBuildAborted: 276,
    ClientDisconnect: 279,
    TransactionCoordinatorSteppingDown: 281,
    TransactionCoordinatorReachedAbortDecision: 282,
    TransactionExceededLifetimeLimitSeconds: 290,
    ObjectIsBusy: 314,
    ConnectionPoolExpired: 317,
    // Unsharded collections take no writes while they move.
    MovePrimaryInProgress: 319,
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
    AdmissionQueueOverflow: 433,
    RateLimitExceeded: 449,
    PooledConnectionAcquisitionRejected: 450,
    InterruptedDueToReshardingCriticalSection: 453,
    IngressRequestRateLimitExceeded: 462,
    SocketException: 9001,
    LegacyNotPrimary: 10058,
    // The server calls it sporadic: its random cursor came upon the same documents again and again.
    SampleFoundDuplicates: sampleFoundDuplicatesCode,
    NotWritablePrimary: 10107,
    // Somebody may make room meanwhile: the warning names it from the first try on.
    OutOfDiskSpace: 14031,
    InterruptedAtShutdown: 11600,
    Interrupted: 11601,
    InterruptedDueToReplStateChange: 11602,
    StaleConfig: 13388,
    NotPrimaryNoSecondaryOk: 13435,
    NotPrimaryOrSecondary: 13436,
    ClientMarkedKilled: 46841,
    RetriableRemoteCommandFailure: 91331,
    InterruptedDueToFCVChange: 10_045_600,
  },
  cursorLost: { CursorNotFound: 43, CursorKilled: 237 },
  // StaleChunkHistory is what a router says instead of the other two.
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
    ReauthenticationRequired: 391,
    AtlasError: 8000,
  },
};

const kindByCode = new Map<number, FailureKind>(
  Object.entries(codesByKind).flatMap(([kind, codes]) =>
    Object.values(codes).map((code) => [code, kind as FailureKind] as const),
  ),
);

/** What an error code of the server means, also one of a single write. */
export function kindOfCode(code: number): FailureKind {
  return kindByCode.get(code) ?? 'fatal';
}

/** The server's code of a failure; null when it has none, as failures of the network. */
export function codeOf(error: unknown): number | null {
  return error instanceof MongoServerError && typeof error.code === 'number' ? error.code : null;
}

/** What a server that splits events answers when a part of one fits into no reply. */
const partTooLargeCode = 7_182_500;

/** Whether the next event of a stream fits into no reply, as that of a document of 16 MB with a long `_id`. */
export function isEventTooLarge(error: unknown): boolean {
  const code = codeOf(error);
  return code === objectTooLargeCode || code === partTooLargeCode;
}

/** Labels with which the server or the driver marks what may be tried again; for codes that are not in the table. */
const retryableLabels = ['RetryableWriteError', 'RetryableError', 'TransientTransactionError', 'SystemOverloadedError'];

/** What a thrown value means, judged by its class, code and labels, never by its text. */
export function classify(error: unknown): FailureKind {
  if (isNetworkFailure(error) || isPoolBusy(error)) return 'retryable';
  if (error instanceof CollectionAbsentError) return 'catalogChanged';
  if (error instanceof CursorLostError) return 'cursorLost';
  if (!(error instanceof MongoServerError)) return 'fatal';
  const kind = kindByCode.get(codeOf(error) ?? NaN);
  if (kind !== undefined) return kind;
  return retryableLabels.some((label) => error.hasErrorLabel(label)) ? 'retryable' : 'fatal';
}

/** No connection became free in time; the driver does not export the class. */
function isPoolBusy(error: unknown): boolean {
  return error instanceof MongoDriverError && error.name === 'MongoWaitQueueTimeoutError';
}

/** What Node.js says of a socket that has ended: the driver passes some of it on as it is, as when it writes to one that was just ended. */
const socketCodes: ReadonlySet<unknown> = new Set([
  'EPIPE',
  'ECONNRESET',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ETIMEDOUT',
  'ERR_STREAM_DESTROYED',
]);

/** True when nothing is known about whether the node has carried the call out. */
export function isNetworkFailure(error: unknown): boolean {
  return (
    error instanceof MongoNetworkError ||
    error instanceof MongoServerSelectionError ||
    error instanceof MongoSystemError ||
    error instanceof NoAnswerError ||
    (error instanceof Error && 'code' in error && socketCodes.has(error.code))
  );
}

const shutdownCodes = new Set([
  codesByKind.retryable['ShutdownInProgress'],
  codesByKind.retryable['InterruptedAtShutdown'],
]);

/** True when a failure speaks against the node itself: no connection, no answer, or it is being shut down. */
export function losesConnection(error: unknown): boolean {
  return isNetworkFailure(error) || shutdownCodes.has(codeOf(error) ?? undefined);
}

/** The name of an error's class; one that is set by hand counts only when it can be a name. */
export function className(error: Error): string {
  return /^\w{1,60}$/.test(error.name) ? error.name : error.constructor.name;
}

/** A failure in words that hold no address, user or value: for logs and descriptions. */
export function failureName(error: unknown): string {
  if (error instanceof MongoServerError) return `${error.codeName ?? error.name} (${error.code ?? 'no code'})`;
  if (!(error instanceof Error)) return typeof error;
  return 'code' in error && typeof error.code === 'number' ? `${className(error)} (${error.code})` : className(error);
}
