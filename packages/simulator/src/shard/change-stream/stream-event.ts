import type { Timestamp } from 'bson';
import { encodeDocument } from '../../bson/encode.js';
import { decodeDocument } from '../../bson/decode.js';
import { resumeTokenDocument, type ResumeToken } from '../../bson/resume-token.js';
import { RawDocument, type Doc, type Value } from '../../bson/value.js';
import { describeUpdate } from '../../update/describe.js';
import { documentKeyFrom, newShardKey } from '../oplog/document-key.js';
import type { EntryNamespace, NewShardOperation, OplogEntry, OplogOperation, UpdateOperation } from '../oplog/entry.js';

/** One change event before it is encoded. `fullDocument` may be a RawDocument. */
export interface StreamEvent {
  readonly token: string;
  /** `{_data}`, with `_typeBits` where the server adds them. */
  readonly tokenDocument: Doc;
  readonly clusterTime: Timestamp;
  readonly doc: Doc;
  readonly invalidates: boolean;
}

/** How a stream wants its events. */
export interface EventStyle {
  /** Document keys of inserts hold the shard key too; a looked up document comes last, as routers put it. */
  readonly wholeDocumentKeys: boolean;
  /** Finds the present document for `updateLookup`; undefined when the stream does not ask for it. */
  readonly lookup: ((target: EntryNamespace, documentKey: Doc) => Uint8Array | undefined) | undefined;
}

const namespaceDocs = new WeakMap<EntryNamespace, RawDocument>();

/** The event of one operation; undefined for those that have none. */
export function streamEvent(entry: OplogEntry, operationIndex: number, style: EventStyle): StreamEvent | undefined {
  const operation = entry.operations[operationIndex];
  if (operation === undefined || operation.kind === 'silent') return undefined;
  if (operation.kind === 'newShard') return newShardEvent(entry, operationIndex, operation);
  const documentKey = documentKeyOf(operation, style);
  const token = tokenOf(entry, operationIndex, operation, documentKey, false);
  const tokenDocument = resumeTokenDocument(token);
  const doc: Doc = new Map();
  if (entry.transaction !== undefined) {
    doc.set('txnNumber', entry.transaction.txnNumber);
    doc.set('lsid', entry.transaction.lsid);
  }
  if (operation.kind === 'rename') doc.set('to', namespaceDoc(operation.to.db, operation.to.collection));
  doc.set('_id', tokenDocument);
  describeOperation(doc, entry, operation, documentKey, style);
  return event(tokenDocument, entry.clusterTime, doc, false);
}

/** The event by which a router learns of a shard it has to read too. */
function newShardEvent(entry: OplogEntry, operationIndex: number, operation: NewShardOperation): StreamEvent {
  const tokenDocument = resumeTokenDocument(tokenOf(entry, operationIndex, operation, new Map([['_id', newShardKey(operation)]]), false));
  const doc: Doc = new Map<string, Value>([
    ['_id', tokenDocument],
    ['operationType', 'kNewShardDetected'],
    ['clusterTime', entry.clusterTime],
  ]);
  return event(tokenDocument, entry.clusterTime, doc, false);
}

/** The event that ends a stream whose collection or database has gone. */
export function invalidateEvent(entry: OplogEntry, operationIndex: number): StreamEvent {
  const operation = entry.operations[operationIndex] as OplogOperation;
  const tokenDocument = resumeTokenDocument(tokenOf(entry, operationIndex, operation, undefined, true));
  const doc: Doc = new Map<string, Value>([
    ['_id', tokenDocument],
    ['operationType', 'invalidate'],
    ['clusterTime', entry.clusterTime],
  ]);
  return event(tokenDocument, entry.clusterTime, doc, true);
}

function event(tokenDocument: Doc, clusterTime: Timestamp, doc: Doc, invalidates: boolean): StreamEvent {
  return { token: tokenDocument.get('_data') as string, tokenDocument, clusterTime, doc, invalidates };
}

function documentKeyOf(operation: OplogOperation, style: EventStyle): Doc | undefined {
  switch (operation.kind) {
    case 'insert':
      return documentKeyFrom(operation.document, style.wholeDocumentKeys ? operation.target.shardKey : undefined);
    case 'update':
    case 'delete':
      return documentKeyFrom(operation.before, operation.target.shardKey);
    default:
      return undefined;
  }
}

function tokenOf(entry: OplogEntry, txnOpIndex: number, operation: OplogOperation, documentKey: Doc | undefined, fromInvalidate: boolean): ResumeToken {
  return {
    clusterTime: entry.clusterTime,
    tokenType: 'event',
    txnOpIndex,
    fromInvalidate,
    ...('target' in operation ? { uuid: operation.target.uuid } : {}),
    ...(documentKey === undefined ? {} : { documentKey }),
  };
}

function describeOperation(doc: Doc, entry: OplogEntry, operation: Exclude<OplogOperation, { kind: 'silent' | 'newShard' }>, documentKey: Doc | undefined, style: EventStyle): void {
  const description = operation.kind === 'update' ? describedUpdate(operation) : undefined;
  doc.set('operationType', operation.kind === 'update' && description === undefined ? 'replace' : operation.kind);
  doc.set('clusterTime', entry.clusterTime);
  if (operation.kind === 'insert') doc.set('fullDocument', new RawDocument(operation.document));
  const lookupLast = style.wholeDocumentKeys && description !== undefined;
  if (operation.kind === 'update' && !lookupLast) addPresentDocument(doc, operation, description, documentKey, style);
  doc.set('ns', operation.kind === 'dropDatabase' ? new Map([['db', operation.db]]) : targetDoc(operation.target));
  if (documentKey !== undefined) doc.set('documentKey', documentKey);
  if (description !== undefined) doc.set('updateDescription', description);
  if (operation.kind === 'update' && lookupLast) addPresentDocument(doc, operation, description, documentKey, style);
}

function addPresentDocument(doc: Doc, operation: UpdateOperation, description: Doc | undefined, documentKey: Doc | undefined, style: EventStyle): void {
  if (description === undefined) {
    doc.set('fullDocument', new RawDocument(operation.after));
  } else if (style.lookup !== undefined && documentKey !== undefined) {
    const present = style.lookup(operation.target, documentKey);
    doc.set('fullDocument', present === undefined ? null : new RawDocument(present));
  }
}

/** What an update changed; undefined when it replaced the document. */
function describedUpdate(operation: UpdateOperation): Doc | undefined {
  if (operation.replacement) return undefined;
  const described = describeUpdate(decodeDocument(operation.before), decodeDocument(operation.after), operation.operators);
  if (described === 'replacement') return undefined;
  return new Map<string, Value>([
    ['updatedFields', described.updatedFields],
    ['removedFields', described.removedFields],
    [
      'truncatedArrays',
      described.truncatedArrays.map(({ field, newSize }) => new Map<string, Value>([['field', field], ['newSize', newSize]])),
    ],
  ]);
}

function targetDoc(target: EntryNamespace): RawDocument {
  const known = namespaceDocs.get(target);
  if (known !== undefined) return known;
  const made = new RawDocument(encodeDocument(namespaceDoc(target.db, target.collection)));
  namespaceDocs.set(target, made);
  return made;
}

function namespaceDoc(db: string, collection: string): Doc {
  return new Map([
    ['db', db],
    ['coll', collection],
  ]);
}
