import { BSON } from 'mongodb';
import type { Document } from 'mongodb';

/** Parts of a catalog document that are sent to the destination as they are: their number types must survive. */
type ExactPath = readonly [parent: string, field: string] | readonly [field: string];

const COLLECTION_EXACT: readonly ExactPath[] = [['options', 'validator'], ['options', 'pipeline'], ['options', 'encryptedFields']];
const INDEX_EXACT: readonly ExactPath[] = [['partialFilterExpression']];

/** Decodes one document of `listCollections`: plain numbers, but validators and pipelines with their exact types. */
export function decodeListedCollection(bytes: Uint8Array): Document {
  return decodeWithExactParts(bytes, COLLECTION_EXACT);
}

/** Decodes one document of `listIndexes`: plain numbers, but partial filters with their exact types. */
export function decodeListedIndex(bytes: Uint8Array): Document {
  return decodeWithExactParts(bytes, INDEX_EXACT);
}

/** Decodes a document of the config database. Longs stay Longs: the bounds of hashed keys must be sent back as such. */
export function decodeConfigDocument(bytes: Uint8Array): Document {
  return BSON.deserialize(bytes, { promoteLongs: false });
}

/** Decodes a document whose numbers are only looked at. */
export function decodePlain(bytes: Uint8Array): Document {
  return BSON.deserialize(bytes);
}

/** A UUID value as 32 hexadecimal digits; empty for anything else. */
export function uuidHex(value: unknown): string {
  if (!(value instanceof BSON.Binary)) return '';
  return Buffer.from(value.buffer.subarray(0, value.position)).toString('hex');
}

function decodeWithExactParts(bytes: Uint8Array, paths: readonly ExactPath[]): Document {
  const plain = BSON.deserialize(bytes);
  const present = paths.filter((path) => valueAt(plain, path) !== undefined);
  if (present.length === 0) return plain;
  const exact = BSON.deserialize(bytes, { promoteValues: false, bsonRegExp: true });
  for (const path of present) {
    const [first, second] = path;
    if (second === undefined) plain[first] = exact[first] as unknown;
    else (plain[first] as Document)[second] = valueAt(exact, path);
  }
  return plain;
}

function valueAt(document: Document, path: ExactPath): unknown {
  const [first, second] = path;
  const value = document[first] as unknown;
  if (second === undefined) return value;
  return (value as Document | undefined)?.[second] as unknown;
}
