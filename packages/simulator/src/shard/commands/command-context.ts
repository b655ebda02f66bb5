import { Binary, Int32, Timestamp } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { numberOf } from '../../node/doc-fields.js';
import { documentText } from '../../bson/text.js';
import { uuidText } from '../uuid-text.js';
import { failure } from '../failure.js';
import type { Participation } from '../session/sessions.js';
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

/** The namespace a command names in its first field. Throws CommandError 2 or 73 for what is no name. */
export function targetNamespace({ request }: CommandContext): string {
  const name = request.body.get(request.name);
  if (typeof name !== 'string') throw failure.badValue(`collection name has invalid type ${typeName(name)}`);
  if (name === '' || name.includes('\0')) throw failure.invalidNamespace(`Invalid namespace specified '${request.db}.${name}'`);
  return `${request.db}.${name}`;
}

/** The collection that a read names: by name, or by its UUID. `collection` is undefined when there is none of that name. */
export function readTarget(context: CommandContext): { namespace: string; collection: Collection | undefined } {
  const { request, state } = context;
  const named = request.body.get(request.name);
  if (named instanceof Binary && named.sub_type === Binary.SUBTYPE_UUID) {
    const collection = state.catalog.collectionByUuid(named);
    if (collection === undefined || collection.db !== request.db) {
      throw failure.namespaceNotFound(`Unable to resolve '${uuidText(named.buffer)}' to a collection of database '${request.db}'`);
    }
    return { namespace: collection.namespace, collection };
  }
  const namespace = targetNamespace(context);
  return { namespace, collection: state.catalog.collection(namespace) };
}

/** How a command reads: its view, and the time to report when it asked for one. */
export interface ReadPoint {
  readonly view: ReadView;
  readonly atClusterTime: Timestamp | undefined;
}

const LATEST_POINT: ReadPoint = { view: { time: LATEST, transaction: null }, atClusterTime: undefined };

/** Reads `readConcern`. Throws CommandError 72 for what does not go together or lies in the future. */
export function readPoint({ request, participation, state }: CommandContext): ReadPoint {
  const { transaction } = participation;
  if (transaction !== null) return { view: transaction.view, atClusterTime: undefined };
  const readConcern = request.body.get('readConcern');
  if (!(readConcern instanceof Map)) return LATEST_POINT;
  const level = readConcern.get('level');
  const at = readConcern.get('atClusterTime');
  if (level !== 'snapshot') {
    if (at !== undefined) throw failure.invalidOptions('atClusterTime field can be set only if level is equal to snapshot');
    return LATEST_POINT;
  }
  if (!(at instanceof Timestamp)) {
    const now = state.oplog.lastTime;
    return { view: { time: timeKey(now), transaction: null }, atClusterTime: now };
  }
  const current = state.options.clock.current();
  if (timeKey(at) > timeKey(current)) {
    throw failure.invalidOptions(
      `readConcern atClusterTime value must not be greater than the current clusterTime. Requested clusterTime: { ts: ${timeText(at)} }; current clusterTime: { ts: ${timeText(current)} }`,
    );
  }
  return { view: { time: timeKey(at), transaction: null }, atClusterTime: at };
}

/** Refuses `snapshot` for commands that cannot read at a time. */
export function refuseSnapshot({ request, participation }: CommandContext): void {
  const readConcern = request.body.get('readConcern');
  if (participation.transaction !== null || !(readConcern instanceof Map) || readConcern.get('level') !== 'snapshot') return;
  const shown = new Map<string, Value>([...readConcern, ['provenance', 'clientSupplied']]);
  throw failure.invalidOptions(
    `Command ${request.name} does not support { readConcern: ${documentText(shown)} } :: caused by :: read concern snapshot not supported`,
  );
}

/** Refuses a read at a time that the collection cannot be shown at. Throws CommandError 246. */
export function refuseUnreadable(collection: Collection, point: ReadPoint): void {
  const { atClusterTime } = point;
  if (atClusterTime === undefined) return;
  if (collection.cap !== undefined) {
    throw new CommandError(246, 'SnapshotUnavailable', 'Reading from capped collections with readConcern snapshot is not supported');
  }
  if (point.view.time >= collection.minimumVisibleTime) return;
  throw new CommandError(
    246,
    'SnapshotUnavailable',
    `Unable to read from a snapshot due to pending collection catalog changes; please retry the operation. Snapshot timestamp is ${timeText(atClusterTime)}. Collection minimum is ${timeText(timestampOf(collection.minimumVisibleTime))}`,
  );
}

/** Text of the session a command came in, for messages and for binding cursors to it. */
export function sessionText({ request }: CommandContext): string | undefined {
  return SessionIdentity.read(request.body.get('lsid'))?.toString();
}

/** A field that must be a document if it is there. Throws CommandError 14. */
export function optionalDoc({ request }: CommandContext, field: string): Doc | undefined {
  const value = request.body.get(field);
  if (value === undefined) return undefined;
  if (!(value instanceof Map)) {
    throw failure.typeMismatch(`BSON field '${request.name}.${field}' is the wrong type '${typeName(value)}', expected type 'object'`);
  }
  return value;
}

/** A field that must be a number if it is there. Throws CommandError 14. */
export function optionalNumber({ request }: CommandContext, field: string): number | undefined {
  const value = request.body.get(field);
  if (value === undefined) return undefined;
  const number = numberOf(value);
  if (number === undefined) {
    throw failure.typeMismatch(`BSON field '${request.name}.${field}' is the wrong type '${typeName(value)}', expected types '[long, int, decimal, double']`);
  }
  return number;
}

/** Fields that every command may have. */
const GENERIC_FIELDS: ReadonlySet<string> = new Set([
  '$db', 'lsid', '$clusterTime', '$readPreference', 'readConcern', 'writeConcern', 'maxTimeMS', 'comment', 'txnNumber', 'autocommit',
  'startTransaction', 'stmtId', 'stmtIds', 'apiVersion', 'apiStrict', 'apiDeprecationErrors', 'databaseVersion', 'shardVersion',
  '$queryOptions', '$audit', '$client', '$configServerState', '$configTime', '$topologyTime', '$oplogQueryData', '$replData', 'help',
  'operationTime', 'coordinator', 'maxTimeMSOpOnly', 'allowImplicitCollectionCreation', 'clientOperationKey', 'mayBypassWriteBlocking',
]);

/** Refuses fields that the command does not have. Throws CommandError 40415, or what `refusal` makes of the field's name. */
export function refuseUnknownFields(
  { request }: CommandContext,
  known: ReadonlySet<string>,
  refusal = (name: string): CommandError => failure.unknownField(`${request.name}.${name}`),
): void {
  for (const name of request.body.keys()) {
    if (name !== request.name && !known.has(name) && !GENERIC_FIELDS.has(name)) throw refusal(name);
  }
}

/** The server's name of a value's type, for the types that commands complain of. */
export function typeName(value: Value | undefined): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'bool';
  if (Array.isArray(value)) return 'array';
  if (value instanceof Map) return 'object';
  if (value instanceof Int32) return 'int';
  const names: Record<string, string> = {
    Double: 'double', Long: 'long', Decimal128: 'decimal', ObjectId: 'objectId', Binary: 'binData', Timestamp: 'timestamp', BSONRegExp: 'regex',
  };
  return names['_bsontype' in value ? value._bsontype : ''] ?? 'object';
}
