import { Binary, Timestamp } from 'bson';
import { typeName } from '../../bson/type-of.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { numberOf } from '../../node/doc-fields.js';
import type { ServerVersion } from '../../node/server-version.js';
import { documentText } from '../../bson/text.js';
import { uuidText } from '../../bson/uuid.js';
import { failure } from '../failure.js';
import type { Participation } from '../session/sessions.js';
import { refuseForgotten } from '../read/document-source.js';
import { SessionIdentity } from '../session/session-identity.js';
import type { ShardState } from '../shard-state.js';
import type { Collection } from '../storage/collection.js';
import type { ReadView } from '../storage/record.js';
import { LATEST, timeKey, timestampOf, timeText } from '../storage/time-key.js';

/** One command as its handler sees it. */
export interface CommandContext {
  readonly state: ShardState;
  readonly request: CommandRequest;
  readonly participation: Participation;
}

/** Answers one command. */
export type CommandHandler = (context: CommandContext) => Doc | Promise<Doc>;

/** The namespace in a command's first field. @throws CommandError 2 (BadValue) or 73 (InvalidNamespace) */
export function targetNamespace({ request, state }: CommandContext): string {
  const name = request.body.get(request.name);
  if (typeof name !== 'string') {
    const shown = `collection name has invalid type ${typeName(name)}`;
    throw state.version.atLeast(8, 0) ? failure.typeMismatch(shown) : failure.badValue(shown);
  }
  if (name === '' || name.includes('\0'))
    throw failure.invalidNamespace(`Invalid namespace specified '${request.db}.${name}'`);
  return `${request.db}.${name}`;
}

/**
 * The collection of a read: by name, or by its UUID. `collection` is undefined when there is none of that name.
 * @param point the time of the read; absent: the latest
 * @throws CommandError 26 (NamespaceNotFound) for an unknown UUID, 246 (SnapshotUnavailable) for a collection that
 * cannot be read at the time
 */
export function readTarget(
  context: CommandContext,
  point = LATEST_POINT,
): { namespace: string; collection: Collection | undefined } {
  const { request, state } = context;
  const named = request.body.get(request.name);
  if (!(named instanceof Binary) || named.sub_type !== Binary.SUBTYPE_UUID) {
    const namespace = targetNamespace(context);
    return { namespace, collection: readCollection(state, namespace, point) };
  }
  const now = state.catalog.collectionByUuid(named);
  const current = now === undefined ? undefined : { collection: now, namespace: now.namespace };
  const found = readsPastCatalog(state, point) ? state.catalog.placeByUuidAt(named, point.view.time) : current;
  if (found === undefined || found.collection.db !== request.db) {
    throw failure.namespaceNotFound(
      `Unable to resolve '${uuidText(named.buffer)}' to a collection of database '${request.db}'`,
    );
  }
  refuseUnreadable(state, found.collection, point);
  return found;
}

/**
 * The collection under a name: from 7.0 on as of the read's time, in earlier releases as of now.
 * @throws CommandError 246 (SnapshotUnavailable) for one that cannot be read at the time
 */
export function readCollection(state: ShardState, namespace: string, point: ReadPoint): Collection | undefined {
  const collection = readsPastCatalog(state, point)
    ? state.catalog.collectionAt(namespace, point.view.time)
    : state.catalog.collection(namespace);
  if (collection !== undefined) refuseUnreadable(state, collection, point);
  return collection;
}

/** Since 7.0 a read at a time finds names, UUIDs and indexes of that time (server test: point_in_time_lookups). */
export function hasPointInTimeCatalog(version: ServerVersion): boolean {
  return version.atLeast(7, 0);
}

/**
 * Whether the read uses the catalog of its time.
 * @throws CommandError 239 (SnapshotTooOld) for a time that is older than the history of collections
 */
function readsPastCatalog({ version, history }: ShardState, { atClusterTime }: ReadPoint): boolean {
  if (atClusterTime === undefined || !hasPointInTimeCatalog(version)) return false;
  refuseForgotten(history, atClusterTime);
  return true;
}

/** The view of a read, and the `atClusterTime` that its reply returns. */
export interface ReadPoint {
  readonly view: ReadView;
  readonly atClusterTime: Timestamp | undefined;
}

const LATEST_POINT: ReadPoint = { view: { time: LATEST, transaction: null }, atClusterTime: undefined };

/**
 * Parses `readConcern`.
 * @throws CommandError 72 (InvalidOptions) for a time without level `snapshot`, or in the future
 */
export function readPoint({ request, participation, state }: CommandContext): ReadPoint {
  const { transaction } = participation;
  if (transaction !== null) return { view: transaction.view, atClusterTime: undefined };
  const readConcern = request.body.get('readConcern');
  if (!(readConcern instanceof Map)) return LATEST_POINT;
  const level = readConcern.get('level');
  const at = readConcern.get('atClusterTime');
  if (level !== 'snapshot') {
    if (at !== undefined)
      throw failure.invalidOptions('atClusterTime field can be set only if level is equal to snapshot');
    return LATEST_POINT;
  }
  if (!(at instanceof Timestamp)) {
    const now = state.oplog.lastTime;
    return { view: { time: timeKey(now), transaction: null }, atClusterTime: now };
  }
  const current = state.options.clock.current();
  if (timeKey(at) > timeKey(current)) {
    throw failure.invalidOptions(
      'readConcern atClusterTime value must not be greater than the current clusterTime. Requested ' +
        `clusterTime: { ts: ${timeText(at)} }; current clusterTime: { ts: ${timeText(current)} }`,
    );
  }
  return { view: { time: timeKey(at), transaction: null }, atClusterTime: at };
}

/** Refuses `snapshot` for commands without snapshot reads. */
export function refuseSnapshot({ request, participation }: CommandContext): void {
  const readConcern = request.body.get('readConcern');
  if (participation.transaction !== null || !(readConcern instanceof Map) || readConcern.get('level') !== 'snapshot')
    return;
  const shown = new Map<string, Value>([...readConcern, ['provenance', 'clientSupplied']]);
  throw failure.invalidOptions(
    `Command ${request.name} does not support { readConcern: ${documentText(shown)} } :: caused by :: read ` +
      'concern snapshot not supported',
  );
}

function refuseUnreadable({ version }: ShardState, collection: Collection, point: ReadPoint): void {
  const { atClusterTime } = point;
  if (atClusterTime === undefined) return;
  if (collection.cap !== undefined && !version.atLeast(8, 0)) {
    throw new CommandError(
      246,
      'SnapshotUnavailable',
      'Reading from capped collections with readConcern snapshot is not supported',
    );
  }
  if (hasPointInTimeCatalog(version) || point.view.time >= collection.minimumVisibleTime) return;
  throw new CommandError(
    246,
    'SnapshotUnavailable',
    'Unable to read from a snapshot due to pending collection catalog changes; please retry the operation. ' +
      `Snapshot timestamp is ${timeText(atClusterTime)}. Collection minimum is ` +
      timeText(timestampOf(collection.minimumVisibleTime)),
  );
}

/** The id of a command's session as text; a cursor belongs to its session. */
export function sessionText({ request }: CommandContext): string | undefined {
  return SessionIdentity.read(request.body.get('lsid'))?.toString();
}

/** An optional document. @throws CommandError 14 (TypeMismatch) */
export function optionalDoc({ request }: CommandContext, field: string): Doc | undefined {
  const value = request.body.get(field);
  if (value === undefined) return undefined;
  if (!(value instanceof Map)) {
    throw failure.typeMismatch(
      `BSON field '${request.name}.${field}' is the wrong type '${typeName(value)}', expected type 'object'`,
    );
  }
  return value;
}

/** An optional number. @throws CommandError 14 (TypeMismatch) */
export function optionalNumber({ request }: CommandContext, field: string): number | undefined {
  const value = request.body.get(field);
  if (value === undefined) return undefined;
  const number = numberOf(value);
  if (number === undefined) {
    throw failure.typeMismatch(
      `BSON field '${request.name}.${field}' is the wrong type '${typeName(value)}', expected types '[long, ` +
        `int, decimal, double']`,
    );
  }
  return number;
}

/** Fields that every command may have. */
const GENERIC_FIELDS: ReadonlySet<string> = new Set([
  '$db',
  'lsid',
  '$clusterTime',
  '$readPreference',
  'readConcern',
  'writeConcern',
  'maxTimeMS',
  'comment',
  'txnNumber',
  'autocommit',
  'startTransaction',
  'stmtId',
  'stmtIds',
  'apiVersion',
  'apiStrict',
  'apiDeprecationErrors',
  'databaseVersion',
  'shardVersion',
  '$queryOptions',
  '$audit',
  '$client',
  '$configServerState',
  '$configTime',
  '$topologyTime',
  '$oplogQueryData',
  '$replData',
  'help',
  'operationTime',
  'coordinator',
  'maxTimeMSOpOnly',
  'allowImplicitCollectionCreation',
  'clientOperationKey',
  'mayBypassWriteBlocking',
]);

/**
 * Refuses fields that the command does not have.
 * @throws CommandError 40415, or what `refusal` returns for the field's name
 */
export function refuseUnknownFields(
  { request }: Pick<CommandContext, 'request'>,
  known: ReadonlySet<string>,
  refusal = (name: string): CommandError => failure.unknownField(`${request.name}.${name}`),
): void {
  for (const name of request.body.keys()) {
    if (name !== request.name && !known.has(name) && !GENERIC_FIELDS.has(name)) throw refusal(name);
  }
}
