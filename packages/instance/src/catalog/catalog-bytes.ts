import { Binary, BSON, type Document } from 'mongodb';
import { DocumentBuilder } from '../bson/build.js';
import { elementType } from '../bson/element-type.js';
import {
  elementsOf,
  findElement,
  findPath,
  ownedValue,
  type RawElement,
  rawValue,
  type RawValue,
  readDocument,
} from '../bson/scan.js';
import { isLossless, losslessValue } from '../bson/sent-value.js';
import { type CatalogEntry, withoutFields } from './namespace.js';

/** Parts of a catalog document that Convoy sends to the destination unchanged: their order and types must survive. */
const exactOptions: ReadonlySet<string> = new Set(['validator', 'pipeline', 'encryptedFields']);
const exactAttributes: ReadonlySet<string> = new Set(['partialFilterExpression', 'wildcardProjection', 'originalSpec']);
/** Parts whose order must survive; their numbers count by value. */
const orderedAttributes: ReadonlySet<string> = new Set(['key', 'weights']);

/**
 * Decodes one document of `listCollections`: plain numbers, but validators and pipelines as `exactValue` decodes them.
 */
export function decodeListedCollection(bytes: Uint8Array): Document {
  const plain = BSON.deserialize(bytes);
  const options = findElement(bytes, 'options');
  if (options !== null) decodeOptions(plain.options as Document, readDocument(bytes, options));
  return plain;
}

/** Converts the exact parts of a collection's options to their plain form. */
function decodeOptions(plain: Document, bytes: Uint8Array): void {
  for (const { element, name } of fieldsIn(bytes, exactOptions)) plain[name] = exactValue(rawValue(bytes, element));
}

/**
 * Decodes an index specification from `listIndexes`: plain numbers, keys as Maps, filters as `exactValue` decodes them.
 */
export function decodeIndex(bytes: Uint8Array): Document {
  const plain = BSON.deserialize(bytes);
  for (const { element, name } of fieldsIn(bytes, exactAttributes)) plain[name] = exactValue(rawValue(bytes, element));
  for (const { element, name } of fieldsIn(bytes, orderedAttributes))
    plain[name] = decodeKey(readDocument(bytes, element));
  return plain;
}

/** An index as a node lists it. */
export interface ListedIndex {
  index: Document;
  /** Whether it is still being built: queries do not use it yet, and it may never be finished. */
  building: boolean;
}

/**
 * Decodes one document of `listIndexes` with `includeBuildUUIDs`: the specification is embedded where the index is
 * being built.
 */
export function decodeListedIndex(bytes: Uint8Array): ListedIndex {
  const spec = findElement(bytes, 'spec');
  const building = spec !== null && findElement(bytes, 'buildUUID') !== null;
  return { index: decodeIndex(building ? readDocument(bytes, spec) : bytes), building };
}

/** Decodes one document of `$indexStats`, with its specification as `decodeIndex` does. */
export function decodeIndexStats(bytes: Uint8Array): Document {
  const spec = findElement(bytes, 'spec');
  const plain = BSON.deserialize(bytes);
  if (spec !== null) plain.spec = decodeIndex(readDocument(bytes, spec));
  return plain;
}

/**
 * Decodes a document of the config database: plain numbers, a shard key as a Map, bounds (`min`, `max`) as their own
 * bytes.
 */
export function decodeConfigDocument(bytes: Uint8Array): Document {
  const plain = BSON.deserialize(bytes);
  const key = findElement(bytes, 'key');
  if (key?.type === elementType.document) plain.key = decodeKey(readDocument(bytes, key));
  for (const bound of ['min', 'max']) {
    const element = findElement(bytes, bound);
    if (element?.type === elementType.document) plain[bound] = Buffer.from(readDocument(bytes, element));
  }
  return plain;
}

/** Decodes a key, or the weights of its fields. */
export function decodeKey(bytes: Uint8Array): Map<string, unknown> {
  return new Map([...elementsOf(bytes)].map((element) => [element.name, plainValue(rawValue(bytes, element))]));
}

/** A UUID value as 32 hexadecimal digits; empty for anything else. */
export function uuidHex(value: unknown): string {
  if (!(value instanceof BSON.Binary)) return '';
  return Buffer.from(value.buffer.subarray(0, value.position)).toString('hex');
}

/**
 * Decodes a value so that it is encoded to the same bytes again: documents are Maps. A value that the driver cannot
 * write stays raw: it can be compared but not sent.
 */
function exactValue(value: RawValue): unknown {
  return isLossless(value) ? losslessValue(value) : ownedValue(value);
}

function plainValue(value: RawValue): unknown {
  return BSON.deserialize(new DocumentBuilder().raw('v', value).finish()).v as unknown;
}

function fieldsIn(bytes: Uint8Array, names: ReadonlySet<string>): { name: string; element: RawElement }[] {
  return [...elementsOf(bytes)]
    .filter(({ name }) => names.has(name))
    .map((element) => ({ name: element.name, element }));
}

/**
 * Encodes an entry as one binary value, so that field names with dots and dollars and every number type survive in the
 * store. Indexes that are being built are none of the stored catalog.
 * @returns what `restoredEntry` takes
 */
export function storedEntry(entry: CatalogEntry): Binary {
  return new Binary(BSON.serialize(withoutFields(entry, 'buildingIndexes'), { ignoreUndefined: true }));
}

/** Decodes a stored entry: plain numbers, but validators, pipelines, partial filters, keys and chunk bounds exact. */
export function restoredEntry(stored: Binary): CatalogEntry {
  const bytes = stored.value();
  const plain = BSON.deserialize(bytes) as CatalogEntry;
  decodeOptions(plain.options, embedded(bytes, 'options'));
  const indexes = embedded(bytes, 'indexes');
  plain.indexes = [...elementsOf(indexes)].map((element) => decodeIndex(readDocument(indexes, element)));
  if (plain.sharding !== null) {
    plain.sharding.key = decodeKey(embedded(bytes, 'sharding', 'key'));
    const chunks = embedded(bytes, 'sharding', 'chunks');
    const raw = [...elementsOf(chunks)].map((element) => readDocument(chunks, element));
    plain.sharding.chunks.forEach((chunk, position) => {
      for (const bound of ['min', 'max'] as const) chunk[bound] = boundIn(raw[position] ?? noDocument, bound);
    });
  }
  return plain;
}

const noDocument = BSON.serialize({});

function embedded(bytes: Uint8Array, ...path: readonly string[]): Uint8Array {
  const element = findPath(bytes, path);
  return element === null ? noDocument : readDocument(bytes, element);
}

/** A copy of the bytes. Earlier releases stored bounds as documents. */
function boundIn(chunk: Uint8Array, name: 'min' | 'max'): Uint8Array {
  const element = findElement(chunk, name);
  if (element === null) return noDocument;
  return Buffer.from(
    element.type === elementType.binary ? chunk.subarray(element.start + 5, element.end) : readDocument(chunk, element),
  );
}
