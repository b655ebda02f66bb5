import { elementType } from '../bson/element-type.js';
import {
  bufferOf,
  cstringEnd,
  elementEnd,
  findElement,
  isNamed,
  type RawElement,
  rawValue,
  readDocument,
  readString,
} from '../bson/scan.js';
import { tokenUuidPlace } from '../cluster/change-stream.js';
import type { ChangeEvent, DataOperation } from '../store/change-event.js';

/** Any event that is not a change of one document: a DDL change, or an internal one of a shard. */
export interface OtherEvent {
  operation: string;
  time: bigint;
  database: string;
  /** Empty for an event of a whole database. */
  name: string;
  /** Target namespace of a rename. */
  to: { database: string; name: string } | null;
}

export type StreamEvent =
  { kind: 'data'; event: ChangeEvent; database: string; name: string } | { kind: 'other'; event: OtherEvent };

const dataOperations: readonly DataOperation[] = ['insert', 'update', 'replace', 'delete'];

/** Bytes of a UUID at the end of a binary value. */
const uuidBytes = 16;

/** Memory of a waiting event beside its bytes: objects, views and strings, as measured on Node.js 20. */
const eventObjects_bytes = 600;

/** The top-level fields of an event that are read. */
const fieldNames = [
  '_id',
  'operationType',
  'clusterTime',
  'ns',
  'to',
  'documentKey',
  'fullDocument',
  'updateDescription',
  'rawUpdateDescription',
  'txnNumber',
  'collectionUUID',
] as const;
type EventField = (typeof fieldNames)[number];

/** Their positions in the event's bytes. */
type EventFields = Record<EventField, RawElement>;

/** Type of an absent field; no element has it. */
const absent = 0;

/** Positions of the event being read. Reused, because millions of them would dominate garbage collection. */
const places = Object.fromEntries(fieldNames.map((name) => [name, { type: absent, start: 0, end: 0 }])) as EventFields;
const allPlaces = Object.values(places);

/** By the length of the name: an unread field mostly costs one comparison. */
const namesByLength: readonly (readonly EventField[])[] = Array.from(
  { length: 1 + Math.max(...fieldNames.map(({ length }) => length)) },
  (_, length) => fieldNames.filter((name) => name.length === length),
);

/**
 * Reads one change event from its bytes in one pass, without decoding documents.
 * @throws RangeError when the bytes are not a change event
 */
export function parseEvent(bytes: Uint8Array): StreamEvent {
  const fields = fieldsOf(bytes);
  const time = timeAt(bytes, required(fields, 'clusterTime'));
  const { database, name } = readNamespace(bytes, fields.ns);
  const operation = dataOperation(bytes, required(fields, 'operationType'));
  if (operation === null) {
    const to = fields.to.type === absent ? null : readNamespace(bytes, fields.to);
    return {
      kind: 'other',
      event: { operation: readString(bytes, required(fields, 'operationType')), time, database, name, to },
    };
  }
  const documentKey = readDocument(bytes, required(fields, 'documentKey'));
  const idElement = findElement(documentKey, '_id');
  if (idElement === null) throw new RangeError('a change event without _id in its document key');
  return {
    kind: 'data',
    database,
    name,
    event: {
      operation,
      time,
      uuid: collectionUuid(bytes, fields),
      id: rawValue(documentKey, idElement),
      documentKey,
      fullDocument: optionalDocument(bytes, fields.fullDocument),
      updateDescription:
        optionalDocument(bytes, fields.rawUpdateDescription) ?? optionalDocument(bytes, fields.updateDescription),
      inTransaction: fields.txnNumber.type !== absent,
      bytes: bytes.length + eventObjects_bytes,
    },
  };
}

/** @returns an object that the next call overwrites */
function fieldsOf(bytes: Uint8Array): Readonly<EventFields> {
  for (const place of allPlaces) place.type = absent;
  let at = 4;
  for (;;) {
    const type = bytes[at];
    if (type === undefined) throw new RangeError('Malformed BSON: a document without end');
    if (type === 0) return places;
    const nameStart = at + 1;
    const start = cstringEnd(bytes, nameStart) + 1;
    const end = elementEnd(bytes, type, start);
    const name = nameAt(bytes, nameStart, start - 1 - nameStart);
    if (name !== null) {
      const place = places[name];
      place.type = type;
      place.start = start;
      place.end = end;
    }
    at = end;
  }
}

function nameAt(bytes: Uint8Array, start: number, length: number): EventField | null {
  for (const name of namesByLength[length] ?? []) if (isNamed(bytes, start, name)) return name;
  return null;
}

function dataOperation(bytes: Uint8Array, { type, start }: RawElement): DataOperation | null {
  if (type !== elementType.string) return null;
  for (const operation of dataOperations) if (isNamed(bytes, start + 4, operation)) return operation;
  return null;
}

/** One view for all events, to avoid one allocation per event. */
const timestampBytes = new Uint8Array(8);
const timestampView = new DataView(timestampBytes.buffer);

function timeAt(bytes: Uint8Array, { type, start }: RawElement): bigint {
  if (type !== elementType.timestamp) throw new RangeError('a change event whose clusterTime is no timestamp');
  for (let index = 0; index < 8; index += 1) timestampBytes[index] = bytes[start + index] ?? 0;
  return timestampView.getBigUint64(0, true);
}

function required(fields: EventFields, name: EventField): RawElement {
  const element = fields[name];
  if (element.type === absent) throw new RangeError(`a change event without ${name}`);
  return element;
}

function optionalDocument(bytes: Uint8Array, element: RawElement): Uint8Array | null {
  if (element.type === absent || element.start === element.end) return null;
  return readDocument(bytes, element);
}

/** Caches the last value with its bytes: neighbouring events mostly have the same. */
class LastValue<Value> {
  #bytes = Buffer.alloc(0);
  #value: Value | null = null;

  /** The value of these bytes, parsed only when they differ from the last ones. */
  of(buffer: Buffer, start: number, end: number, read: (bytes: Buffer) => Value): Value {
    if (this.#value !== null && this.#bytes.length === end - start && this.#bytes.compare(buffer, start, end) === 0)
      return this.#value;
    this.#bytes = Buffer.from(buffer.subarray(start, end));
    this.#value = read(this.#bytes);
    return this.#value;
  }
}

interface EventNamespace {
  database: string;
  name: string;
}

const noNamespace: EventNamespace = { database: '', name: '' };
const lastNamespace = new LastValue<EventNamespace>();
const lastUuid = new LastValue<string>();

function readNamespace(bytes: Uint8Array, element: RawElement): EventNamespace {
  if (element.type === absent) return noNamespace;
  return lastNamespace.of(bufferOf(bytes), element.start, element.end, namespaceOf);
}

function namespaceOf(namespace: Buffer): EventNamespace {
  const database = findElement(namespace, 'db');
  const name = findElement(namespace, 'coll');
  return {
    database: database === null ? '' : readString(namespace, database),
    name: name === null ? '' : readString(namespace, name),
  };
}

/** From 6.0 the event has it; before, only the resume token. */
function collectionUuid(bytes: Uint8Array, fields: EventFields): string {
  const stated = fields.collectionUUID;
  if (stated.type !== absent)
    return lastUuid.of(bufferOf(bytes), stated.end - uuidBytes, stated.end, (uuid) => uuid.toString('hex'));
  const token = required(fields, '_id');
  const place = tokenUuidPlace(bytes, token.start, token.end);
  if (place === null) throw new RangeError('a resume token without collection UUID');
  return lastUuid.of(bufferOf(bytes), place.start, place.end, (uuid) => uuid.toString('latin1').toLowerCase());
}
