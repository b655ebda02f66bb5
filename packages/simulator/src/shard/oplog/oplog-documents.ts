import { Int32, Long } from 'bson';
import { encodeDocument } from '../../bson/encode.js';
import { DateTime, RawDocument, type Doc, type Value } from '../../bson/value.js';
import { documentKeyFrom, newShardKey } from './document-key.js';
import type { OplogEntry, OplogOperation } from './entry.js';
import type { Oplog } from './oplog.js';

/** The namespace under which the oplog can be read. */
export const OPLOG_NAMESPACE = 'local.oplog.rs';

/** The oplog's entries as documents of `local.oplog.rs`; a transaction is one `applyOps`. */
export function* oplogDocuments(oplog: Oplog, direction: 1 | -1): Generator<Uint8Array> {
  if (direction === 1) {
    for (let at = oplog.start; at < oplog.end; at += 1) yield* entryDocument(oplog.at(at));
    return;
  }
  for (let at = oplog.end - 1; at >= oplog.start; at -= 1) yield* entryDocument(oplog.at(at));
}

function* entryDocument(entry: OplogEntry | undefined): Generator<Uint8Array> {
  const [first] = entry?.operations ?? [];
  if (entry === undefined || first === undefined) return;
  const described = entry.transaction === undefined ? describe(first) : applyOps(entry);
  described.set('ts', entry.clusterTime);
  described.set('t', Long.fromNumber(1));
  described.set('v', Long.fromNumber(2));
  described.set('wall', new DateTime(BigInt(entry.wallMs)));
  yield encodeDocument(described);
}

function applyOps(entry: OplogEntry): Doc {
  const operations = new Map<string, Value>([['applyOps', entry.operations.map(describe)]]);
  const described: Doc = new Map<string, Value>([
    ['lsid', entry.transaction?.lsid ?? null],
    ['txnNumber', entry.transaction?.txnNumber ?? null],
    ['op', 'c'],
    ['ns', 'admin.$cmd'],
    ['o', operations],
  ]);
  return described;
}

function describe(operation: OplogOperation): Doc {
  switch (operation.kind) {
    case 'silent':
      return fields('n', '', operation.note);
    case 'newShard':
      return fields('n', `${operation.target.db}.${operation.target.collection}`, newShardKey(operation), operation.target.uuid);
    case 'dropDatabase':
      return fields('c', `${operation.db}.$cmd`, new Map([['dropDatabase', new Int32(1)]]));
    case 'drop':
      return fields('c', `${operation.target.db}.$cmd`, new Map([['drop', operation.target.collection]]), operation.target.uuid);
    case 'rename': {
      const from = `${operation.target.db}.${operation.target.collection}`;
      const to = `${operation.to.db}.${operation.to.collection}`;
      return fields('c', `${operation.target.db}.$cmd`, new Map([['renameCollection', from], ['to', to]]), operation.target.uuid);
    }
    case 'insert':
      return documentFields('i', operation, new RawDocument(operation.document));
    case 'update':
      return documentFields('u', operation, new RawDocument(operation.after)).set('o2', documentKeyFrom(operation.before, operation.target.shardKey));
    case 'delete':
      return documentFields('d', operation, documentKeyFrom(operation.before, operation.target.shardKey));
  }
}

function documentFields(op: string, operation: Extract<OplogOperation, { kind: 'insert' | 'update' | 'delete' }>, o: Value): Doc {
  const { target } = operation;
  return fields(op, `${target.db}.${target.collection}`, o, target.uuid);
}

function fields(op: string, namespace: string, o: Value, uuid?: Value): Doc {
  const described: Doc = new Map<string, Value>([
    ['op', op],
    ['ns', namespace],
  ]);
  if (uuid !== undefined) described.set('ui', uuid);
  return described.set('o', o);
}
