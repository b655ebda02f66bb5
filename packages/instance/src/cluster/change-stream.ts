import type { Document, Timestamp } from 'mongodb';
import { bufferOf, isNamed } from '../bson/scan.js';
import type { NodeClient, RawCursor, Version } from './node-client.js';
import { isAtLeast } from './topology.js';

export interface ChangeStreamOptions {
  /** The first time that is read (inclusive). */
  startAtOperationTime: Timestamp;
  batchDocumentsMax: number;
  signal: AbortSignal;
  /** The whole cluster instead of one database or collection. */
  allChangesForCluster: boolean;
  /** Decides about the dialect. */
  version: Version;
  /** Limits the stream when it is not the whole cluster's. */
  database?: string;
  collection?: string;
  /** Stages after `$changeStream`, carried out by the server. */
  pipeline?: Document[];
  /** Where the server knows how: events beyond 16 MB arrive in fragments (`splitEvent`) instead of ending the stream. */
  splitLargeEvents?: boolean;
}

/**
 * Opens a change stream as a cursor of our own: nothing resumes it behind our back. From 6.0 on it shows DDL
 * (`showExpandedEvents`), which earlier servers refuse with 40415.
 * @throws the server's error, for example ChangeStreamHistoryLost (286), also from later batches
 */
export async function openChangeStream(client: NodeClient, options: ChangeStreamOptions): Promise<RawCursor> {
  const command = {
    aggregate: options.allChangesForCluster ? 1 : (options.collection ?? 1),
    pipeline: [changeStreamStage(options), ...(options.pipeline ?? []), ...splitStage(options)],
    // Opening must not scan: a first batch would make it wait for as many events as there are.
    cursor: { batchSize: 0 },
  };
  const database = options.allChangesForCluster ? 'admin' : (options.database ?? 'admin');
  return client.openCursor(database, command, { signal: options.signal, batchDocumentsMax: options.batchDocumentsMax });
}

function changeStreamStage(options: ChangeStreamOptions): Document {
  return {
    $changeStream: {
      ...(options.allChangesForCluster ? { allChangesForCluster: true } : {}),
      startAtOperationTime: options.startAtOperationTime,
      ...(isAtLeast(options.version, 6, 0) ? { showExpandedEvents: true } : {}),
    },
  };
}

/** Must be the last stage. */
function splitStage({ splitLargeEvents, version }: ChangeStreamOptions): Document[] {
  return splitLargeEvents === true && splitsLargeEvents(version) ? [{ $changeStreamSplitLargeEvent: {} }] : [];
}

/** Servers have known how to split events since 7.0 and 6.0.9 (manual, `$changeStreamSplitLargeEvent`). */
export function splitsLargeEvents([major, minor, patch]: Version): boolean {
  return major >= 7 || (major === 6 && minor === 0 && patch >= 9);
}

/** Seconds and increment of a token are 8 hexadecimal digits each, after the type mark of a timestamp. */
const timestampMark = '82';
const timeDigits = 16;
/** What stands before the collection's UUID (recorded on 5.0 for every event but dropDatabase). */
const uuidMark = '5A1004';
const uuidDigits = 32;
/** Version, token type and transaction index stand between the time and the UUID. */
const uuidSearchFrom = timestampMark.length + timeDigits;

/**
 * The cluster time in a resume token: everything below it has been read, at it there may be more.
 * @param data the token's `_data`
 * @throws RangeError when it is no token that Convoy can read
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

/** What stands before the token's text in its document: the length, then type and name of `_data` and the text's length. */
const dataNameAt = 5;
const dataTextAt = dataNameAt + '_data'.length + 1 + 4;

/**
 * Where the same stands in the bytes of a token's document, as 32 hexadecimal digits; null when there is none.
 * @param start where the document `{_data: …}` begins in `bytes`
 */
export function tokenUuidPlace(bytes: Uint8Array, start: number, end: number): { start: number; end: number } | null {
  if (!isNamed(bytes, start + dataNameAt, '_data')) return null;
  const mark = bufferOf(bytes).indexOf(uuidMark, start + dataTextAt + uuidSearchFrom, 'latin1');
  const uuid = { start: mark + uuidMark.length, end: mark + uuidMark.length + uuidDigits };
  return mark < 0 || uuid.end > end ? null : uuid;
}
