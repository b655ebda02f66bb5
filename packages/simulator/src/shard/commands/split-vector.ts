import { decodeDocument } from '../../bson/decode.js';
import { encodeDocument } from '../../bson/encode.js';
import type { Doc, Value } from '../../bson/value.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';
import { documentKeyFrom } from '../oplog/document-key.js';
import { failure } from '../failure.js';
import { queryDocuments } from '../read/query.js';
import { LATEST } from '../storage/time-key.js';
import type { CommandContext } from './command-context.js';

/** Default size of a piece: the server's chunk size. */
const CHUNK_BYTES = 64 * 1024 * 1024;

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
  if (collection === undefined) throw failure.namespaceNotFound('ns not found');
  if (collection.documentCount === 0) return new Map([['splitKeys', []]]);
  const documents = queryDocuments(
    collection,
    { ...WHOLE, ...boundsOf(request.body, keyPattern) },
    { time: LATEST, transaction: null },
    undefined,
  );
  const averageBytes = Math.floor(collection.documentBytes / collection.documentCount);
  const force = isTrue(request.body.get('force'));
  const keysPerPiece = force
    ? Math.floor(collection.documentCount / 2)
    : Math.floor(pieceBytes(request.body) / (2 * averageBytes));
  const pointsMax = force ? 1 : (numberOf(request.body.get('maxSplitPoints')) ?? Infinity);
  return new Map([['splitKeys', splitKeys(documents, [...keyPattern.keys()], keysPerPiece, pointsMax)]]);
}

const WHOLE = {
  filter: new Map<string, Value>(),
  sort: undefined,
  projection: undefined,
  skip: 0,
  limit: Infinity,
  collation: undefined,
  variables: {},
};

function boundsOf(body: Doc, keyPattern: Doc): { hint: Value; min: Doc | undefined; max: Doc | undefined } {
  const bound = (name: string): Doc | undefined => {
    const value = body.get(name);
    return value instanceof Map && value.size > 0 ? value : undefined;
  };
  return { hint: keyPattern, min: bound('min'), max: bound('max') };
}

function pieceBytes(body: Doc): number {
  const megabytes = numberOf(body.get('maxChunkSize'));
  return numberOf(body.get('maxChunkSizeBytes')) ?? (megabytes === undefined ? CHUNK_BYTES : megabytes * 1024 * 1024);
}

/** A key with more documents than a piece cannot be a split point. */
function splitKeys(
  documents: Iterable<Uint8Array | undefined>,
  paths: readonly string[],
  keysPerPiece: number,
  pointsMax: number,
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
    if (found.length >= pointsMax) break;
  }
  return found;
}

function keyOf(document: Uint8Array, paths: readonly string[]): Buffer {
  const values = documentKeyFrom(document, paths);
  return encodeDocument(new Map(paths.map((path) => [path, values.get(path) ?? null])));
}
