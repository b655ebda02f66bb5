import { Int32 } from 'bson';
import { decodeDocument } from '../../bson/decode.js';
import { encodeDocument } from '../../bson/encode.js';
import { hashShardKeyValue } from '../../bson/hash.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { numberOf } from '../../node/doc-fields.js';
import { unsimulated } from '../../node/unsimulated.js';
import { failure } from '../failure.js';
import { documentKeyFrom } from '../oplog/document-key.js';
import { queryDocuments } from '../read/query.js';
import { LATEST } from '../storage/time-key.js';
import { WHOLE_COLLECTION } from './aggregate.js';
import { optionalNumber, type CommandContext } from './command-context.js';

/** `appendOplogNote`: an entry without an event that advances the shard's time. */
export function appendOplogNote({ state, request }: CommandContext): Doc {
  const data = request.body.get('data');
  if (!(data instanceof Map))
    throw failure.typeMismatch("BSON field 'appendOplogNote.data' is the wrong type, expected type 'object'");
  state.oplog.appendSilent(data);
  return new Map();
}

const megabyte = 1024 * 1024;
/** The smallest oplog that `replSetResizeOplog` makes, in megabytes (manual). */
const oplogMegabytesMin = 990;

/**
 * `replSetResizeOplog`: the oplog's size in megabytes.
 * @throws CommandError 51024 for a size below 990 MB, 72 without one, 115 for hours for which entries stay beyond it
 */
export function resizeOplog(context: CommandContext): Doc {
  if (context.request.body.has('minRetentionHours')) throw unsimulated('replSetResizeOplog.minRetentionHours');
  const size = optionalNumber(context, 'size');
  if (size === undefined) {
    throw failure.invalidOptions(
      "Either the 'size' field or the 'minRetentionHours' field must be specified in the replSetResizeOplog command",
    );
  }
  if (size < oplogMegabytesMin) {
    throw new CommandError(
      51024,
      'Location51024',
      `BSON field 'size' value must be >= ${oplogMegabytesMin}, actual value '${size}'`,
    );
  }
  context.state.oplog.resize(size * megabyte);
  return new Map();
}

/** `_hashBSONElement`: the value of a hashed index. */
export function hashElement({ request }: CommandContext): Doc {
  const key = request.body.get(request.name) ?? null;
  return new Map<string, Value>([
    ['key', key],
    ['seed', request.body.get('seed') ?? new Int32(0)],
    ['out', hashShardKeyValue(key)],
  ]);
}

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
