import {
  bufferOf,
  elementsOf,
  findElement,
  type NamedElement,
  rawValue,
  readDocument,
  readString,
  readTimestamp,
} from '../bson/scan.js';
import { tokenUuid } from '../cluster/change-stream.js';
import type { ChangeEvent, DataOperation } from '../store/change-event.js';

/** A definition change, or anything else that is not a change of one document. */
export interface DefinitionEvent {
  operation: string;
  time: bigint;
  database: string;
  /** Empty when the event is about a whole database. */
  name: string;
  /** Target namespace of a rename. */
  to: { database: string; name: string } | null;
}

/** A change event as the stations take it. */
export type StreamEvent = { kind: 'data'; event: ChangeEvent; database: string; name: string } | { kind: 'definition'; event: DefinitionEvent };

const dataOperations = new Set<string>(['insert', 'update', 'replace', 'delete']);

/** Bytes of a UUID at the end of a binary value. */
const uuidBytes = 16;

/**
 * Reads one change event from its bytes without decoding documents.
 * @throws RangeError when the bytes are not a change event
 */
export function parseEvent(bytes: Uint8Array): StreamEvent {
  const fields = new Map<string, NamedElement>();
  for (const element of elementsOf(bytes)) fields.set(element.name, element);
  const operation = readString(bytes, required(fields, 'operationType'));
  const time = readTimestamp(bytes, required(fields, 'clusterTime'));
  const namespace = readNamespace(bytes, fields.get('ns'));
  if (!dataOperations.has(operation)) {
    const to = fields.get('to');
    const target = to === undefined ? null : readNamespace(bytes, to);
    return { kind: 'definition', event: { operation, time, ...namespace, to: target } };
  }
  const documentKey = readDocument(bytes, required(fields, 'documentKey'));
  const idElement = findElement(documentKey, '_id');
  if (idElement === null) throw new RangeError('a change event without _id in its document key');
  return {
    kind: 'data',
    ...namespace,
    event: {
      operation: operation as DataOperation,
      time,
      uuid: collectionUuid(bytes, fields),
      id: rawValue(documentKey, idElement),
      documentKey,
      fullDocument: optionalDocument(bytes, fields.get('fullDocument')),
      updateDescription: optionalDocument(bytes, fields.get('updateDescription')),
      inTransaction: fields.has('txnNumber'),
      bytes: bytes.length,
    },
  };
}

function required(fields: ReadonlyMap<string, NamedElement>, name: string): NamedElement {
  const element = fields.get(name);
  if (element === undefined) throw new RangeError(`a change event without ${name}`);
  return element;
}

function optionalDocument(bytes: Uint8Array, element: NamedElement | undefined): Uint8Array | null {
  if (element === undefined || element.start === element.end) return null;
  return readDocument(bytes, element);
}

function readNamespace(bytes: Uint8Array, element: NamedElement | undefined): { database: string; name: string } {
  if (element === undefined) return { database: '', name: '' };
  const namespace = readDocument(bytes, element);
  const database = findElement(namespace, 'db');
  const name = findElement(namespace, 'coll');
  return {
    database: database === null ? '' : readString(namespace, database),
    name: name === null ? '' : readString(namespace, name),
  };
}

/** From 6.0 on the event says it; before, it stands in the resume token. */
function collectionUuid(bytes: Uint8Array, fields: ReadonlyMap<string, NamedElement>): string {
  const stated = fields.get('collectionUUID');
  if (stated !== undefined) return bufferOf(bytes).toString('hex', stated.end - uuidBytes, stated.end);
  const id = readDocument(bytes, required(fields, '_id'));
  const data = findElement(id, '_data');
  if (data === null) throw new RangeError('a change event without resume token');
  const uuid = tokenUuid(readString(id, data));
  if (uuid === null) throw new RangeError('a resume token without collection UUID');
  return uuid;
}
