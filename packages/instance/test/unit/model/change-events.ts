import { Long } from 'mongodb';
import { DocumentBuilder } from '../../../src/bson/build.js';
import { encodeValue } from '../../../src/bson/scan.js';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import { documentOf, fieldOf, type Fields } from './raw-document.js';

/** UUID of the model's first collection. */
export const modelUuid = '00112233445566778899aabbccddeeff';
export const modelNamespace = { database: 'shop', name: 'orders' };

/** A collection as an event names it. */
export interface NamedCollection {
  uuid: string;
  name: string;
}

const firstCollection: NamedCollection = { uuid: modelUuid, name: modelNamespace.name };

/** What of a change the oplog keeps. */
export interface SeenChange {
  operation: 'insert' | 'update' | 'replace' | 'delete';
  /** Full document key before the change. */
  key: Fields;
  document?: Buffer;
  updated?: Fields;
  removed?: string[];
  truncated?: boolean;
  inTransaction: boolean;
}

/** A token as a shard of 5.0 makes it, as far as Convoy reads it. */
export function tokenOf(time: bigint, uuid = modelUuid): string {
  return `82${time.toString(16).padStart(16, '0')}2B022C0100296E5A1004${uuid.toUpperCase()}`;
}

/** The bytes of a change event as a stream on a shard shows it: an insert's key is `_id` alone. */
export function eventOf(change: SeenChange, time: bigint, collection: NamedCollection = firstCollection): Buffer {
  const builder = new DocumentBuilder().begin('_id').string('_data', tokenOf(time, collection.uuid)).end();
  builder.string('operationType', change.operation).raw('clusterTime', encodeValue(timestampOf(time)));
  if (change.inTransaction) builder.raw('txnNumber', encodeValue(Long.ONE));
  builder.begin('ns').string('db', modelNamespace.database).string('coll', collection.name).end();
  builder.document(
    'documentKey',
    documentOf(change.operation === 'insert' ? change.key.filter(([name]) => name === '_id') : change.key),
  );
  if (change.document !== undefined) builder.document('fullDocument', change.document);
  if (change.operation === 'update') builder.document('updateDescription', description(change));
  return Buffer.from(builder.finish());
}

/** The bytes of a DDL change as one shard shows it. */
export function ddlEventOf(operation: string, time: bigint, { uuid, name }: NamedCollection, to?: string): Buffer {
  const builder = new DocumentBuilder().begin('_id').string('_data', tokenOf(time, uuid)).end();
  builder.string('operationType', operation).raw('clusterTime', encodeValue(timestampOf(time)));
  builder.begin('ns').string('db', modelNamespace.database).string('coll', name).end();
  if (to !== undefined) builder.begin('to').string('db', modelNamespace.database).string('coll', to).end();
  return Buffer.from(builder.finish());
}

function description(change: SeenChange): Buffer {
  return new DocumentBuilder()
    .document('updatedFields', documentOf(change.updated ?? []))
    .raw('removedFields', encodeValue(change.removed ?? []))
    .raw('truncatedArrays', encodeValue(change.truncated === true ? [{ field: 'list', newSize: 1 }] : []))
    .finish();
}

/** Shard key and `_id`, in the order in which the server shows them. */
export function documentKey(fields: Fields): Fields {
  return ['sk', '_id'].map((name) => [name, fieldOf(fields, name) ?? encodeValue(null)]);
}
