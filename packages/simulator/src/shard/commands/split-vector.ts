import { decodeDocument } from '../../bson/decode.js';
import { encodeDocument } from '../../bson/encode.js';
import type { Doc, Value } from '../../bson/value.js';
import { numberOf } from '../../node/doc-fields.js';
import { unsimulated } from '../../node/unsimulated.js';
import { documentKeyFrom } from '../oplog/document-key.js';
import { failure } from '../failure.js';
import { queryDocuments } from '../read/query.js';
import { LATEST } from '../storage/time-key.js';
import { WHOLE_COLLECTION } from './aggregate.js';
import type { CommandContext } from './command-context.js';

/** Default size of a piece: the server's chunk size. */
const CHUNK_BYTES = 64 * 1024 * 1024;

const megabyte = 1024 * 1024;

/**
 * `splitVector`: keys that cut a collection into pieces of about half of `maxChunkSizeBytes`, in the order of an index.
 */
export function splitVector({ state, request }: CommandContext): Doc {
  const namespace = request.body.get(request.name);
  const keyPattern = request.body.get('keyPattern');
  if (typeof namespace !== 'string')
    throw failure.typeMismatch("BSON field 'splitVector.splitVector' is the wrong type, expected type 'string'");
  if (!(keyPattern instanceof Map)) throw failure.typeMismatch('no key pattern found in splitVector');
  const collection = state.catalog.collection(namespace);
  const refused = unsimulatedFields.find((name) => request.body.has(name));
  if (refused !== undefined) throw unsimulated(`splitVector.${refused}`);
  if (collection === undefined) throw failure.namespaceNotFound('ns not found');
  if (collection.documentCount === 0) return new Map([['splitKeys', []]]);
  const documents = queryDocuments(
    collection,
    { ...WHOLE_COLLECTION, hint: keyPattern },
    { time: LATEST, transaction: null },
    undefined,
  );
  const averageBytes = Math.floor(collection.documentBytes / collection.documentCount);
  const pieceBytes = numberOf(request.body.get('maxChunkSizeBytes')) ?? CHUNK_BYTES;
  if (state.version.atLeast(8, 0) && (pieceBytes < megabyte || pieceBytes > 1024 * megabyte))
    throw failure.invalidOptions('The specified max chunk size must lie within the range [1MB, 1024MB]');
  const keysPerPiece = Math.floor(pieceBytes / (2 * averageBytes));
  return new Map([['splitKeys', splitKeys(documents, [...keyPattern.keys()], keysPerPiece)]]);
}

const unsimulatedFields = ['force', 'max', 'maxChunkSize', 'maxSplitPoints', 'min'];

/** A key with more documents than a piece cannot be a split point. */
function splitKeys(
  documents: Iterable<Uint8Array | undefined>,
  paths: readonly string[],
  keysPerPiece: number,
): Value[] {
  const found: Value[] = [];
  let last: Buffer | undefined;
  let count = 0;
  for (const document of documents) {
    if (document === undefined) continue;
    count += 1;
    if (count <= keysPerPiece) continue;
    const key = keyOf(document, paths);
    if (last?.equals(key) === true) continue;
    found.push(decodeDocument(key));
    last = key;
    count = 0;
  }
  return found;
}

function keyOf(document: Uint8Array, paths: readonly string[]): Buffer {
  const values = documentKeyFrom(document, paths);
  return encodeDocument(new Map(paths.map((path) => [path, values.get(path) ?? null])));
}
