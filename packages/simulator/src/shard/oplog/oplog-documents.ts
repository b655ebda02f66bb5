import { Int32, Long, Timestamp } from 'bson';
import { decodeDocument } from '../../bson/decode.js';
import { encodeDocument } from '../../bson/encode.js';
import { DateTime, RawDocument, type Doc, type Value } from '../../bson/value.js';
import type { ServerVersion } from '../../node/server-version.js';
import { describeDiff, updateDiff } from '../../update/describe.js';
import type { Diff } from '../../update/diff.js';
import { documentKeyFrom, keyBefore, newShardKey } from './document-key.js';
import type {
  DocumentOperation,
  EntryTransaction,
  InsertOperation,
  OplogEntry,
  OplogOperation,
  TransactionPart,
  UpdateOperation,
  DdlOperation,
} from './entry.js';
import { initiationMessage, type Oplog } from './oplog.js';

/** The namespace of the oplog. */
export const OPLOG_NAMESPACE = 'local.oplog.rs';

const noOpTime: Doc = new Map<string, Value>([
  ['ts', new Timestamp({ t: 0, i: 0 })],
  ['t', Long.fromNumber(-1)],
]);
const TERM = Long.fromNumber(1);
const ENTRY_VERSION = Long.fromNumber(2);

/**
 * The oplog's entries as documents of `local.oplog.rs`. A transaction is one `applyOps`, or several when it is large or
 * prepared.
 */
export function* oplogDocuments(oplog: Oplog, version: ServerVersion, direction: 1 | -1): Generator<Uint8Array> {
  if (direction === 1) {
    for (let at = oplog.start; at < oplog.end; at += 1) yield* entryDocument(oplog.at(at), version);
    return;
  }
  for (let at = oplog.end - 1; at >= oplog.start; at -= 1) yield* entryDocument(oplog.at(at), version);
}

/** The document of one entry. None for a missing entry. */
export function* entryDocument(entry: OplogEntry | undefined, version: ServerVersion): Generator<Uint8Array> {
  if (entry === undefined) return;
  const { transaction, part } = entry;
  const [first, second] = entry.operations;
  if (transaction === undefined && first === undefined) return;
  const isOne = transaction === undefined && second === undefined;
  const described = isOne
    ? describe(first as OplogOperation, version)
    : transactionFields(transaction, transactionCommand(entry, version));
  described.set('ts', entry.clusterTime);
  if (!isInitiation(first)) described.set('t', TERM);
  described.set('v', ENTRY_VERSION);
  described.set('wall', new DateTime(BigInt(entry.wallMs)));
  if (transaction !== undefined) described.set('prevOpTime', opTime(part?.previous));
  yield encodeDocument(described);
}

/** The very first entry is written before there is a term. */
function isInitiation(operation: OplogOperation | undefined): boolean {
  return operation?.kind === 'silent' && operation.note.get('msg') === initiationMessage;
}

function opTime(time: Timestamp | undefined): Doc {
  if (time === undefined) return noOpTime;
  return new Map<string, Value>([
    ['ts', time],
    ['t', TERM],
  ]);
}

/** Documents that the server deletes together form an `applyOps` of no session. */
function transactionFields(transaction: EntryTransaction | undefined, command: Doc): Doc {
  return new Map<string, Value>([
    ...(transaction === undefined
      ? []
      : [['lsid', transaction.lsid] as [string, Value], ['txnNumber', transaction.txnNumber] as [string, Value]]),
    ['op', 'c'],
    ['ns', 'admin.$cmd'],
    ['o', command],
  ]);
}

function transactionCommand({ operations, part }: OplogEntry, version: ServerVersion): Doc {
  if (part?.kind === 'commit') {
    return new Map<string, Value>([
      ['commitTransaction', new Int32(1)],
      ['commitTimestamp', part.commitTime ?? null],
      ['prepared', true],
    ]);
  }
  if (part?.kind === 'abort') return new Map([['abortTransaction', new Int32(1)]]);
  const written: readonly OplogOperation[] = part?.written ?? operations;
  const command: Doc = new Map<string, Value>([['applyOps', written.map((operation) => describe(operation, version))]]);
  if (part !== undefined) markPiece(command, part);
  return command;
}

function markPiece(command: Doc, { kind, count }: TransactionPart): void {
  if (kind === 'partial') command.set('partialTxn', true);
  if (kind === 'prepare') command.set('prepare', true);
  if (count !== undefined) command.set('count', Long.fromNumber(count));
}

function describe(operation: OplogOperation, version: ServerVersion): Doc {
  switch (operation.kind) {
    case 'silent':
      return fields('n', '', operation.note);
    case 'newShard':
      return fields(
        'n',
        `${operation.target.db}.${operation.target.collection}`,
        newShardKey(operation),
        operation.target.uuid,
      );
    case 'definition':
      return definitionFields(operation);
    case 'dropDatabase':
      return fields('c', `${operation.db}.$cmd`, new Map([['dropDatabase', new Int32(1)]]));
    case 'drop':
      return fields(
        'c',
        `${operation.target.db}.$cmd`,
        new Map([['drop', operation.target.collection]]),
        operation.target.uuid,
      );
    case 'rename': {
      const from = `${operation.target.db}.${operation.target.collection}`;
      const to = `${operation.to.db}.${operation.to.collection}`;
      const command = new Map<string, Value>([
        ['renameCollection', from],
        ['to', to],
        ['stayTemp', false],
      ]);
      if (operation.droppedTarget !== undefined) command.set('dropTarget', operation.droppedTarget);
      return fields('c', `${operation.target.db}.$cmd`, command, operation.target.uuid);
    }
    case 'insert':
      return insertFields(operation, version);
    case 'update':
      return documentFields('u', operation, updateFields(operation, version)).set('o2', keyBefore(operation));
    case 'delete':
      return documentFields('d', operation, keyBefore(operation));
  }
}

/** Since 6.0 inserts carry their whole document key. */
function insertFields(operation: InsertOperation, version: ServerVersion): Doc {
  const described = documentFields('i', operation, new RawDocument(operation.document));
  return version.atLeast(6)
    ? described.set('o2', documentKeyFrom(operation.document, operation.target.shardKey))
    : described;
}

/** The whole document of a replacement; otherwise the difference, in 4.4 as operators. */
function updateFields(operation: UpdateOperation, version: ServerVersion): Value {
  const { before, after, operators, replacement } = operation;
  const whole = new RawDocument(after);
  if (replacement || (operators === undefined && !version.atLeast(5))) return whole;
  const diff = operation.diff ?? updateDiff(decodeDocument(before), decodeDocument(after), operators);
  if (diff === undefined) return whole;
  if (!version.atLeast(5)) return pathOperators(diff);
  return new Map<string, Value>([
    ['$v', new Int32(2)],
    ['diff', diff],
  ]);
}

/** An update as 4.4 logs it: every path set or unset. */
function pathOperators(diff: Diff): Doc {
  const { updatedFields, removedFields } = describeDiff(diff);
  const operators: Doc = new Map<string, Value>([['$v', new Int32(1)]]);
  if (removedFields.length > 0) operators.set('$unset', new Map(removedFields.map((path) => [path, true])));
  if (updatedFields.size > 0) operators.set('$set', updatedFields);
  return operators;
}

function documentFields(op: string, operation: DocumentOperation, o: Value): Doc {
  const { target } = operation;
  return fields(op, `${target.db}.${target.collection}`, o, target.uuid);
}

/** A DDL change as in the oplog: a command, or a no-op for one that is done elsewhere. */
function definitionFields(operation: DdlOperation): Doc {
  const described = definedFields(operation);
  if (operation.fromMigrate === true) described.set('fromMigrate', true);
  return described;
}

function definedFields({ event, target, description, stateBeforeChange }: DdlOperation): Doc {
  const { db, collection, uuid } = target;
  const command = (name: string, rest: Iterable<[string, Value]>): Doc =>
    fields('c', `${db}.$cmd`, new Map<string, Value>([[name, collection], ...rest]), uuid);
  switch (event) {
    case 'create':
      return command('create', description);
    case 'createIndexes': {
      const specs = indexesOf(description);
      const [only] = specs;
      return only !== undefined && specs.length === 1
        ? command('createIndexes', only)
        : command('commitIndexBuild', description);
    }
    case 'dropIndexes': {
      const spec = indexesOf(description)[0] ?? new Map<string, Value>();
      return command('dropIndexes', [['index', spec.get('name') ?? '']]).set('o2', spec);
    }
    case 'modify':
      return command('collMod', description).set('o2', oldOptions(stateBeforeChange));
    default:
      return notice(event, `${db}.${collection}`, uuid, description);
  }
}

function indexesOf(description: Doc): Doc[] {
  const indexes = description.get('indexes');
  return Array.isArray(indexes) ? indexes.filter((spec) => spec instanceof Map) : [];
}

function oldOptions(before: Doc | undefined): Doc {
  const old: Doc = new Map();
  for (const [name, value] of before ?? []) old.set(`${name}_old`, value);
  return old;
}

/** A change of the whole collection and not of this shard alone: a no-op whose `o2` describes it. */
function notice(event: string, namespace: string, uuid: Value, description: Doc): Doc {
  const named = new Map<string, Value>([[event, namespace]]);
  return fields('n', namespace, new Map([['msg', named]]), uuid).set('o2', new Map([...named, ...description]));
}

/** The first fields of an oplog document: `op`, `ns`, `ui` for collections, `o`. */
function fields(op: string, namespace: string, o: Value, uuid?: Value): Doc {
  const described: Doc = new Map<string, Value>([
    ['op', op],
    ['ns', namespace],
  ]);
  if (uuid !== undefined) described.set('ui', uuid);
  return described.set('o', o);
}
