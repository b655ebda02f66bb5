import { Int32 } from 'bson';
import { decodeDocument } from '../bson/decode.js';
import { encodeDocument } from '../bson/encode.js';
import { type Doc, RawDocument, type Value } from '../bson/value.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { docOrEmpty, isTrue, numberOf, textOrEmpty } from '../node/doc-fields.js';
import { unknownField } from '../node/unknown-field.js';

export type OperationKind = 'insert' | 'update' | 'delete';

/** One operation of a `bulkWrite`, as a statement of the older write commands. */
export interface BulkOperation {
  readonly kind: OperationKind;
  /** Its place in the client's list. */
  readonly index: number;
  readonly namespace: string;
  /** A document to insert, or `{q, u, …}`, `{q, limit, …}`. */
  readonly statement: Uint8Array;
}

/** Operations of one command at most, as on the server (`maxWriteBatchSize`). */
const operationsMax = 100_000;
const kinds: readonly OperationKind[] = ['insert', 'update', 'delete'];
const updateFields = [
  'update',
  'filter',
  'updateMods',
  'multi',
  'upsert',
  'arrayFilters',
  'collation',
  'hint',
  'constants',
  'sort',
];
const deleteFields = ['delete', 'filter', 'multi', 'collation', 'hint'];

/**
 * The operations of a `bulkWrite` in order.
 * @throws CommandError 16 for none or too many, 2 for a namespace that is not in `nsInfo`, 40414 and 40415 for fields
 */
export function bulkOperations(request: CommandRequest): BulkOperation[] {
  const operations = listed(request, 'ops');
  const namespaces = listed(request, 'nsInfo').map((entry) => textOrEmpty(entry.get('ns')));
  if (operations.length === 0 || operations.length > operationsMax) {
    throw new CommandError(
      16,
      'InvalidLength',
      `Write batch sizes must be between 1 and ${operationsMax}. Got ${operations.length} operations.`,
    );
  }
  return operations.map((operation, index) => bulkOperation(operation, index, namespaces));
}

function listed(request: CommandRequest, field: string): Doc[] {
  const sent = request.sequences.get(field);
  if (sent !== undefined) return sent.map((bytes) => decodeDocument(bytes));
  const array = request.body.get(field);
  if (!Array.isArray(array))
    throw new CommandError(40414, 'Location40414', `BSON field 'bulkWrite.${field}' is missing but a required field`);
  return array.map((entry) => (entry instanceof RawDocument ? decodeDocument(entry.bytes) : docOrEmpty(entry)));
}

function bulkOperation(operation: Doc, index: number, namespaces: readonly string[]): BulkOperation {
  const kind = kinds.find((each) => each === operation.keys().next().value);
  if (kind === undefined) throw unknownField(`bulkWrite.ops.${operation.keys().next().value ?? ''}`);
  const namespace = namespaces[numberOf(operation.get(kind)) ?? -1];
  if (namespace === undefined)
    throw new CommandError(2, 'BadValue', `BulkWrite ops entry ${index} has an invalid nsInfo index.`);
  return { kind, index, namespace, statement: encodeDocument(statementOf(kind, operation)) };
}

function statementOf(kind: OperationKind, operation: Doc): Doc {
  if (kind === 'insert') return docOrEmpty(required(operation, 'insert', 'document'));
  refuseUnknown(operation, kind, kind === 'update' ? updateFields : deleteFields);
  const statement: Doc = new Map([['q', required(operation, kind, 'filter')]]);
  if (kind === 'delete') statement.set('limit', new Int32(isTrue(operation.get('multi')) ? 0 : 1));
  else statement.set('u', required(operation, kind, 'updateMods'));
  const kept =
    kind === 'update' ? ['multi', 'upsert', 'arrayFilters', 'collation', 'hint', 'sort'] : ['collation', 'hint'];
  for (const name of kept) {
    const value = operation.get(name);
    if (value !== undefined) statement.set(name, value);
  }
  const constants = operation.get('constants');
  return constants === undefined ? statement : statement.set('c', constants);
}

function required(operation: Doc, kind: OperationKind, name: string): Value {
  const value = operation.get(name);
  if (value === undefined)
    throw new CommandError(
      40414,
      'Location40414',
      `BSON field 'bulkWrite.ops.${kind}.${name}' is missing but a required field`,
    );
  return value;
}

function refuseUnknown(operation: Doc, kind: OperationKind, known: readonly string[]): void {
  const unknown = [...operation.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) throw unknownField(`bulkWrite.ops.${kind}.${unknown}`);
}
