import type { Json } from './corpus-file.js';

/**
 * The seconds from which on a time is one of a run: the corpus was recorded later, and its commands name earlier ones
 * only.
 */
const runFromSeconds = 1_700_100_000;
const millisecondsPerSecond = 1000;
/** Length of a SHA-1 hash. */
const signatureBytes = 20;

/** Whether a value is a timestamp of the wall clock, unlike the zero timestamp and those that commands bring along. */
export function isClusterTime(value: Json): boolean {
  const time = only(value, '$timestamp') as { t: number; i: number } | undefined;
  return time !== undefined && time.t >= runFromSeconds && time.i > 0;
}

export function isTimeOfRun(value: Json): boolean {
  const date = only(value, '$date') as { $numberLong?: string } | undefined;
  return Number(date?.$numberLong) >= runFromSeconds * millisecondsPerSecond;
}

/** Whether a value is an ObjectId made by a node or a client of the run. */
export function isObjectIdOfRun(value: Json): boolean {
  const hex = only(value, '$oid');
  return isObjectId(value) && typeof hex === 'string' && isSecondOfRun(parseInt(hex.slice(0, 8), 16));
}

/** Whether a value is the id of the recorded bucket, which begins with the time of its first measurement. */
export function isBucketId(value: Json): boolean {
  const hex = only(value, '$oid');
  return isObjectId(value) && typeof hex === 'string' && hex.startsWith('6553ede0');
}

/** Whether a value is the column of two ids of the run, one made right after the other. */
export function isPairOfIds(value: Json): boolean {
  const binary = only(value, '$binary') as { base64: string; subType: string } | undefined;
  const bytes = Buffer.from(binary?.base64 ?? '', 'base64').toString('hex');
  const [, seconds = '0'] = /^0700([0-9a-f]{8})[0-9a-f]{16}802e0000000000000000$/.exec(bytes) ?? [];
  return binary?.subType === '07' && isSecondOfRun(parseInt(seconds, 16));
}

function isObjectId(value: Json): boolean {
  const hex = only(value, '$oid');
  return typeof hex === 'string' && /^[0-9a-f]{24}$/.test(hex);
}

/**
 * Whether a value is a resume token, of a time alone or of an event: with its number in a transaction, its collection
 * and its key.
 */
export function isBatchToken(value: Json): boolean {
  return typeof value === 'string' && batchToken.test(value);
}

const batchToken = new RegExp(
  '^82[0-9A-F]{16}2B0[24](?:29|2C0100)(?:29|2B[0-9A-F]{2}|2C[0-9A-F]{4})6[EF]' +
    '(?:(?:5A1004[0-9A-F]{32}|14)(?:46[0-9A-F]+)?)?04$',
);

/** Between the earliest second of a run and those that begin with 7fff, as election ids do. */
function isSecondOfRun(seconds: number): boolean {
  return seconds >= runFromSeconds && seconds < 0x7fff0000;
}

export function isUuid(value: Json): boolean {
  const binary = only(value, '$binary') as { base64: string; subType: string } | undefined;
  return binary?.subType === '04' && Buffer.from(binary.base64, 'base64').length === 16;
}

/** Whether a value is the signature of a cluster time, unlike the zeros of clusters that do not sign. */
export function isSignatureHash(value: Json): boolean {
  const binary = only(value, '$binary') as { base64: string; subType: string } | undefined;
  const bytes = Buffer.from(binary?.base64 ?? '', 'base64');
  return binary?.subType === '00' && bytes.length === signatureBytes && bytes.some((byte) => byte !== 0);
}

/** Whether a value is the id of an open cursor. */
export function isCursorId(value: Json): boolean {
  const id = only(value, '$numberLong');
  return typeof id === 'string' && id !== '0';
}

export function isInt(value: Json): boolean {
  return only(value, '$numberInt') !== undefined;
}

export function isLong(value: Json): boolean {
  return only(value, '$numberLong') !== undefined;
}

export function isCount(value: Json): boolean {
  return isInt(value) || isLong(value);
}

export function isDouble(value: Json): boolean {
  return only(value, '$numberDouble') !== undefined;
}

/** Whether a value is a number that is not negative. */
export function isDuration(value: Json): boolean {
  const number = only(value, '$numberInt') ?? only(value, '$numberLong') ?? only(value, '$numberDouble');
  return typeof number === 'string' && Number(number) >= 0;
}

export function isText(value: Json): boolean {
  return typeof value === 'string';
}

export function isTexts(value: Json): boolean {
  return Array.isArray(value) && value.every(isText);
}

/** Anything but a missing field. */
export function isValue(): boolean {
  return true;
}

const extendedType = new RegExp(
  '^\\$(?:numberInt|numberLong|numberDouble|numberDecimal|oid|symbol|undefined|minKey|maxKey|' +
    'date|timestamp|binary|regularExpression|code|dbPointer)$',
);

/** Whether an object stands for a value of another type, by the names of canonical extended JSON. */
export function isExtended(value: Readonly<Record<string, Json>>): boolean {
  const [name] = Object.keys(value);
  return name !== undefined && extendedType.test(name);
}

/** What a value of extended JSON holds under a type's name. */
function only(value: Json, type: string): Json | undefined {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? value[type] : undefined;
}
