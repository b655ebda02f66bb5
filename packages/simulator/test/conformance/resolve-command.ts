import { Binary, Int32, Long, ObjectId, Timestamp } from 'bson';
import { decodeResumeToken } from '../../src/bson/resume-token.js';
import { fromExtendedJson } from '../extended-json.js';
import type { Doc, Value } from '../../src/bson/value.js';
import type { Json } from './corpus-file.js';
import type { Uuids } from './paired-uuids.js';

/** Replies of the steps so far, and sessions by the letters the corpus gives them. */
export interface Played {
  readonly replies: ReadonlyMap<number, Doc>;
  readonly sessions: Map<string, Binary>;
  readonly uuids: Uuids;
  readonly clusterTime: Timestamp;
}

/** A recorded command with its references to other steps replaced by what those steps gave in this run. */
export function resolveCommand(command: Json, played: Played): Doc {
  return resolve(command, played) as Doc;
}

function resolve(json: Json, played: Played): Value {
  if (Array.isArray(json)) return json.map((each) => resolve(each, played));
  if (json === null || typeof json !== 'object') return fromExtendedJson(json);
  const [name, ...others] = Object.keys(json);
  if (name !== undefined && others.length === 0) {
    const reference = resolveReference(name, json[name] ?? null, played);
    if (reference !== undefined) return reference;
    if (extendedTypes.has(name)) return fromExtendedJson(ofThisRun(json, played.uuids));
  }
  const fields = Object.entries(json).map(([field, value]): [string, Value] => [field, resolve(value, played)]);
  return retryable(new Map(fields));
}

/** A UUID that the recorded cluster gave stands for the one this run gave in its place. */
function ofThisRun(json: Record<string, Json>, uuids: Uuids): Json {
  const { base64, subType } = (json['$binary'] ?? {}) as { base64?: string; subType?: string };
  const own = base64 === undefined ? undefined : uuids.get(base64);
  return own === undefined || subType === undefined ? json : { $binary: { base64: own, subType } };
}

const extendedTypes: ReadonlySet<string> = new Set([
  '$numberInt',
  '$numberLong',
  '$numberDouble',
  '$numberDecimal',
  '$oid',
  '$date',
  '$timestamp',
  '$binary',
  '$minKey',
  '$maxKey',
  '$undefined',
  '$symbol',
  '$code',
  '$dbPointer',
  '$regularExpression',
]);

/** `retryable: true` stands for a session of its own and a number, as the driver adds them. */
function retryable(command: Doc): Doc {
  if (command.get('retryable') !== true || !command.has('updates')) return command;
  command.delete('retryable');
  const id = new Binary(Buffer.alloc(16, 1), Binary.SUBTYPE_UUID);
  return command.set('lsid', new Map([['id', id]])).set('txnNumber', Long.fromInt(1));
}

function resolveReference(name: string, value: Json, played: Played): Value | undefined {
  const reply = (): Doc => played.replies.get(numberIn(value)) ?? new Map<string, Value>();
  const cursor = (): Doc => (reply().get('cursor') as Doc | undefined) ?? new Map<string, Value>();
  switch (name) {
    case 'cursorOfStep':
      return cursor().get('id') ?? Long.ZERO;
    case 'operationTimeOfStep':
      return reply().get('operationTime') ?? null;
    case 'postBatchResumeTokenOfStep':
      return cursor().get('postBatchResumeToken') ?? null;
    case 'repeated':
      return repeatedText(value as { text: string; times: Json });
    case 'timeAfterStep':
      return timeAfter(reply().get('operationTime') as Timestamp);
    case 'timeOfTokenOfStep':
      return timeOfToken(cursor().get('postBatchResumeToken') as Doc);
    case 'atClusterTimeOfStep':
      return cursor().get('atClusterTime') ?? null;
    case 'now':
      return played.clusterTime;
    case 'secondsFromNow':
      return new Timestamp({ t: played.clusterTime.t + numberIn(value), i: 1 });
    case 'session':
      return new Map([['id', sessionId(textIn(value), played.sessions)]]);
    case 'generated':
      return generatedDocuments(textIn(value));
    default:
      return undefined;
  }
}

function timeAfter(time: Timestamp): Timestamp {
  return new Timestamp({ t: time.t, i: time.i + 1 });
}

/** A long text of one character over and over. */
function repeatedText({ text, times }: { text: string; times: Json }): string {
  return text.repeat(numberIn(times));
}

function textIn(value: Json): string {
  return typeof value === 'string' ? value : '';
}

function numberIn(value: Json): number {
  const parsed = fromExtendedJson(value);
  return parsed instanceof Int32 ? parsed.value : Number(value);
}

function timeOfToken(token: Doc): Timestamp {
  return decodeResumeToken(token.get('_data') as string).clusterTime;
}

function sessionId(letter: string, sessions: Map<string, Binary>): Binary {
  const known = sessions.get(letter) ?? new Binary(Buffer.alloc(16, letter), Binary.SUBTYPE_UUID);
  sessions.set(letter, known);
  return known;
}

/** Documents that the corpus describes in words. */
function generatedDocuments(description: string): Value[] {
  const found = /^400 documents \{_id: ObjectId, sk: (-?\d+)\.\.(-?\d+), a: sk, pad: (\d+) characters\}$/.exec(
    description,
  );
  if (found === null) throw new Error(`no such documents: ${description}`);
  const [from, to, pad] = found.slice(1).map(Number) as [number, number, number];
  return Array.from({ length: to - from + 1 }, (_, index): Doc => {
    const key = new Int32(from + index);
    return new Map<string, Value>([
      ['_id', new ObjectId()],
      ['sk', key],
      ['a', key],
      ['pad', 'x'.repeat(pad)],
    ]);
  });
}
