import type { Document, Timestamp } from 'mongodb';
import { bufferOf, isNamed } from '../bson/scan.js';
import type { NodeClient, RawCursor, Version } from './node-client.js';
import { isAtLeast } from './topology.js';

export interface ChangeStreamOptions {
  /** The first time to read (inclusive). */
  startAtOperationTime: Timestamp;
  batchDocumentsMax: number;
  signal: AbortSignal;
  /** The whole cluster instead of one database or collection. */
  allChangesForCluster: boolean;
  /** Determines which options the server supports. */
  version: Version;
  /** Database and collection of a stream that does not cover the whole cluster. */
  database?: string;
  collection?: string;
  /** Stages after `$changeStream`, which the server runs. */
  pipeline?: Document[];
  /** On servers that support it: events above 16 MB arrive in fragments (`splitEvent`) instead of ending the stream. */
  splitLargeEvents?: boolean;
  /** On servers that support it: updates come as the oplog's diff (`rawUpdateDescription`), which shows all places. */
  rawUpdateDescriptions?: boolean;
}

/**
 * Opens a change stream as a plain cursor: the driver does not resume it. From 6.0 on it shows DDL
 * (`showExpandedEvents`); earlier servers refuse that option with 40415.
 * @throws the server's error, for example ChangeStreamHistoryLost (286), also from later batches
 */
export async function openChangeStream(client: NodeClient, options: ChangeStreamOptions): Promise<RawCursor> {
  const command = {
    aggregate: options.allChangesForCluster ? 1 : (options.collection ?? 1),
    pipeline: [changeStreamStage(options), ...(options.pipeline ?? []), ...splitStage(options)],
    // Opening must not scan: a first batch would wait until it is full.
    cursor: { batchSize: 0 },
  };
  const database = options.allChangesForCluster ? 'admin' : (options.database ?? 'admin');
  return client.openCursor(database, command, { signal: options.signal, batchDocumentsMax: options.batchDocumentsMax });
}

function changeStreamStage(options: ChangeStreamOptions): Document {
  const showsDiffs = options.rawUpdateDescriptions === true && showsRawUpdates(options.version);
  return {
    $changeStream: {
      ...(options.allChangesForCluster ? { allChangesForCluster: true } : {}),
      startAtOperationTime: options.startAtOperationTime,
      ...(isAtLeast(options.version, 6, 0) ? { showExpandedEvents: true } : {}),
      ...(showsDiffs ? { showRawUpdateDescription: true } : {}),
    },
  };
}

/** Servers show the oplog's diff from 6.0 on (SERVER-61894), in a router's stream too; earlier ones answer 40415. */
function showsRawUpdates(version: Version): boolean {
  return isAtLeast(version, 6, 0);
}

/** Must be the last stage. */
function splitStage({ splitLargeEvents, version }: ChangeStreamOptions): Document[] {
  return splitLargeEvents === true && splitsLargeEvents(version) ? [{ $changeStreamSplitLargeEvent: {} }] : [];
}

/** Servers split events from 7.0 and 6.0.9 on (manual, `$changeStreamSplitLargeEvent`). */
export function splitsLargeEvents([major, minor, patch]: Version): boolean {
  return major >= 7 || (major === 6 && minor === 0 && patch >= 9);
}

/** In a token, seconds and increment have 8 hexadecimal digits each, after the type byte of a timestamp. */
const timestampMark = '82';
const timeDigits = 16;
/** Precedes the collection's UUID (recorded on 5.0 for every event but dropDatabase). */
const uuidMark = '5A1004';
const uuidDigits = 32;
/** Version, token type and transaction index are between the time and the UUID. */
const uuidSearchFrom = timestampMark.length + timeDigits;

/**
 * The cluster time in a resume token: the stream has delivered everything before it, and possibly not all events at it.
 * @param data the token's `_data`
 * @throws RangeError if Convoy cannot read the token
 */
export function tokenTime(data: string): bigint {
  const digits = data.slice(timestampMark.length, uuidSearchFrom);
  if (!data.startsWith(timestampMark) || !/^[0-9A-Fa-f]{16}$/.test(digits))
    throw new RangeError('A resume token has an unknown form');
  return BigInt(`0x${digits}`);
}

/** The UUID of the event's collection as 32 lower-case hexadecimal digits; null for tokens without one. */
export function tokenUuid(data: string): string | null {
  const mark = data.indexOf(uuidMark, uuidSearchFrom);
  if (mark < 0) return null;
  const uuid = data.slice(mark + uuidMark.length, mark + uuidMark.length + uuidDigits);
  return uuid.length === uuidDigits ? uuid.toLowerCase() : null;
}

/** Bytes before the token's text in its document: the length, then type and name of `_data` and the text's length. */
const dataNameAt = 5;
const dataTextAt = dataNameAt + '_data'.length + 1 + 4;

/**
 * Where the raw bytes of a token's document have the UUID of `tokenUuid`, as 32 hexadecimal digits; null if nowhere.
 * @param start where the document `{_data: …}` begins in `bytes`
 */
export function tokenUuidPlace(bytes: Uint8Array, start: number, end: number): { start: number; end: number } | null {
  if (!isNamed(bytes, start + dataNameAt, '_data')) return null;
  const mark = bufferOf(bytes).indexOf(uuidMark, start + dataTextAt + uuidSearchFrom, 'latin1');
  const uuid = { start: mark + uuidMark.length, end: mark + uuidMark.length + uuidDigits };
  return mark < 0 || uuid.end > end ? null : uuid;
}
