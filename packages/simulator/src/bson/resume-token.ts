import { Binary, Int32, Timestamp } from 'bson';
import { CommandError } from '../node/command.js';
import { decodeKeyString } from './key-string-decode.js';
import { encodeTypedKeyHex } from './key-string.js';
import { TypeBits } from './type-bits.js';
import { type Doc, RawDocument, type Value } from './value.js';

/**
 * The format of a token. 1: the document key alone distinguishes events of documents (4.2 to 6.0). 2: `{operationType,
 * documentKey or operationDescription}` does (7.0, and streams that split events from 6.0.9 on). In 2 a missing UUID is
 * null, and a fragment's number may follow.
 */
export type ResumeTokenVersion = 1 | 2;

/** The position in the stream that a resume token encodes. */
export interface ResumeToken {
  clusterTime: Timestamp;
  version: ResumeTokenVersion;
  /** `highWater` for the token of an empty batch, which stands before every event of its time. */
  tokenType: 'highWater' | 'event';
  /** Position inside a transaction; 0 otherwise. */
  txnOpIndex: number;
  /** True for the invalidate event that follows a drop or rename. */
  fromInvalidate: boolean;
  /** The collection; absent for events of a whole database. */
  uuid?: Binary;
  /** Distinguishes the event from others of its time: see `ResumeTokenVersion`. */
  eventIdentifier?: Doc | RawDocument;
  /** Number of a part, from 0, of an event that was split. */
  fragmentNum?: number;
}

const EVENT_TOKEN = 128;
const HIGH_WATER_TOKEN = 0;
const UUID_SUBTYPE = 4;

/** The `_data` of a token: upper-case hex of a key string, which orders as the stream does. */
export function encodeResumeToken(token: ResumeToken): string {
  return hexOf(token, new TypeBits());
}

/**
 * The whole token document of events and cursors: `_data`, and `_typeBits` when the document key holds numbers other
 * than ints.
 */
export function resumeTokenDocument(token: ResumeToken): Doc {
  const typeBits = new TypeBits();
  const document: Doc = new Map<string, Value>([['_data', hexOf(token, typeBits)]]);
  const bits = typeBits.encode();
  if (bits !== undefined) document.set('_typeBits', new Binary(bits, 0));
  return document;
}

/** The token of an empty batch at a cluster time. */
export function highWaterToken(clusterTime: Timestamp, version: ResumeTokenVersion = 1): ResumeToken {
  return { clusterTime, version, tokenType: 'highWater', txnOpIndex: 0, fromInvalidate: false };
}

/**
 * Reads a token's `_data`. Numbers of the document key become ints, longs or doubles of the same value, because the
 * token omits their types.
 * @param versionMax the newest format that the server knows: 1 before 6.0
 * @throws CommandError 9 or 50811 for a text that is no token, 50795 for another token version, 6189501 and similar for
 * missing parts
 */
export function decodeResumeToken(hex: string, versionMax: ResumeTokenVersion = 2): ResumeToken {
  if (hex.length % 2 !== 0 || !/^[0-9A-Fa-f]*$/.test(hex)) {
    throw new CommandError(9, 'FailedToParse', 'resume token string was not a valid hex string');
  }
  const [clusterTime, version, ...rest] = decodeKeyString(Buffer.from(hex, 'hex'));
  if (!(clusterTime instanceof Timestamp)) throw new CommandError(40649, 'Location40649', 'invalid empty resume token');
  const known = numberOf(version);
  if (known !== 1 && (known !== 2 || versionMax < 2)) throw unknownVersion(versionMax);
  const token: ResumeToken = { clusterTime, version: known, ...placeOf(rest) };
  if (known === 2 && token.tokenType === 'event' && token.eventIdentifier === undefined) {
    throw new CommandError(6189501, 'Location6189501', 'Expected an eventIdentifier for an event resume token');
  }
  return token;
}

function unknownVersion(versionMax: ResumeTokenVersion): CommandError {
  const message =
    versionMax === 1
      ? 'Invalid resume token: only supports version 0 or 1'
      : 'Invalid Resume Token: only supports version 0, 1 and 2';
  return new CommandError(50795, 'Location50795', message);
}

function hexOf(token: ResumeToken, typeBits: TypeBits): string {
  const values: Value[] = [
    token.clusterTime,
    new Int32(token.version),
    new Int32(token.tokenType === 'event' ? EVENT_TOKEN : HIGH_WATER_TOKEN),
    new Int32(token.txnOpIndex),
    token.fromInvalidate,
  ];
  if (token.uuid !== undefined) values.push(token.uuid);
  else if (token.version === 2) values.push(null);
  if (token.eventIdentifier !== undefined) values.push(token.eventIdentifier);
  if (token.fragmentNum !== undefined) values.push(new Int32(token.fragmentNum));
  return encodeTypedKeyHex(values, typeBits);
}

function placeOf(values: readonly (Value | undefined)[]): Omit<ResumeToken, 'clusterTime' | 'version'> {
  const [tokenType, txnOpIndex, fromInvalidate, uuid, eventIdentifier, fragmentNum] = values;
  const place: Omit<ResumeToken, 'clusterTime' | 'version'> = {
    tokenType: numberOf(tokenType) === EVENT_TOKEN ? 'event' : 'highWater',
    txnOpIndex: numberOf(txnOpIndex),
    fromInvalidate: fromInvalidate === true,
  };
  if (uuid instanceof Binary && uuid.sub_type === UUID_SUBTYPE) place.uuid = uuid;
  if (eventIdentifier instanceof Map) place.eventIdentifier = eventIdentifier;
  if (fragmentNum !== undefined) place.fragmentNum = numberOf(fragmentNum);
  return place;
}

function numberOf(value: Value | undefined): number {
  if (!(value instanceof Int32))
    throw new CommandError(9, 'FailedToParse', 'resume token has a field of the wrong type');
  return value.value;
}
