import { Int32 } from 'bson';
import { documentText } from '../../bson/text.js';
import type { Doc, Value } from '../../bson/value.js';
import { docOf, numberOf } from '../../node/doc-fields.js';
import { failure } from '../failure.js';

const FIELDS: ReadonlySet<string> = new Set([
  'w',
  'j',
  'wtimeout',
  'fsync',
  'provenance',
  'getLastError',
  'wElectionId',
  'wOpTime',
]);
/** Members of a replica set at most (manual, "MongoDB Limits"). */
const MEMBERS_MAX = 50;

/** Refuses a malformed write concern. @throws CommandError 9 or 14 */
export function refuseInvalidWriteConcern(body: Doc): void {
  const concern = body.get('writeConcern');
  if (concern === undefined) return;
  if (!(concern instanceof Map)) throw failure.typeMismatch('"writeConcern" had the wrong type. Expected object');
  for (const name of concern.keys())
    if (!FIELDS.has(name)) throw failure.failedToParse(`unrecognized write concern field: ${name}`);
  const w = concern.get('w');
  const members = numberOf(w);
  if (members !== undefined && (members < 0 || members > MEMBERS_MAX)) {
    throw failure.failedToParse(
      `w has to be a non-negative number and not greater than ${MEMBERS_MAX}; found: ${members}`,
    );
  }
  if (w !== undefined && members === undefined && typeof w !== 'string' && !(w instanceof Map)) {
    throw failure.failedToParse('w has to be a number, string, or object');
  }
}

/**
 * The outcome of a write concern on a set of one member: `writeConcernError`, or undefined when it is satisfied. The
 * write has happened in any case.
 */
export function writeConcernError(body: Doc): Doc | undefined {
  const concern = docOf(body.get('writeConcern'));
  const w = concern?.get('w');
  if (concern === undefined || w === undefined) return undefined;
  const shown = new Map<string, Value>([
    ['w', w],
    ['wtimeout', concern.get('wtimeout') ?? new Int32(0)],
    ['provenance', concern.get('provenance') ?? 'clientSupplied'],
  ]);
  if (typeof w === 'string') {
    if (w === 'majority') return undefined;
    return errorOf(
      79,
      'UnknownReplWriteConcern',
      `No write concern mode named '${w}' found in replica set configuration`,
      shown,
    );
  }
  return (numberOf(w) ?? 1) <= 1
    ? undefined
    : errorOf(100, 'UnsatisfiableWriteConcern', 'Not enough data-bearing nodes', shown);
}

function errorOf(code: number, codeName: string, cause: string, shown: Doc): Doc {
  return new Map<string, Value>([
    ['code', new Int32(code)],
    ['codeName', codeName],
    ['errmsg', `${cause}; Error details: ${documentText(new Map([['writeConcern', shown]]))}`],
    ['errInfo', new Map([['writeConcern', shown]])],
  ]);
}
