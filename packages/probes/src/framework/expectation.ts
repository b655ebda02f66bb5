import { BSON, type Document, type Long, type Timestamp } from 'mongodb';
import { DoesNotHold } from './probe.js';

/** Longer answers are truncated: the recording has the whole. */
const shownCharactersMax = 400;

/** A value as it is shown and compared: extended JSON, with fields in order. */
export function shown(value: unknown): string {
  const text = value === undefined ? 'nothing' : BSON.EJSON.stringify(value, { relaxed: true });
  return text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}…` : text;
}

/**
 * @param what is compared, in words
 * @throws DoesNotHold unless both are the same, the order of fields included
 */
export function expectSame(what: string, answered: unknown, expected: unknown): void {
  const whole = (value: unknown): string => (value === undefined ? '' : BSON.EJSON.stringify(value, { relaxed: true }));
  if (whole(answered) !== whole(expected)) throw new DoesNotHold(`${what}: ${shown(expected)}`, shown(answered));
}

/** @throws DoesNotHold unless it is true */
export function expectThat(what: string, isTrue: boolean, answered: unknown): void {
  if (!isTrue) throw new DoesNotHold(what, shown(answered));
}

/** One field of each document. */
export function valuesOf(documents: readonly Document[], field: string): unknown[] {
  return documents.map((document) => document[field] as unknown);
}

/** The cursor of a reply; nothing for a refusal. */
interface ShownCursor {
  readonly id?: number | Long;
  readonly firstBatch?: Document[];
  readonly nextBatch?: Document[];
  readonly atClusterTime?: Timestamp;
  readonly postBatchResumeToken?: Document;
}

export function cursorIn(reply: Document): ShownCursor {
  return (reply.cursor as ShownCursor | undefined) ?? {};
}

/** The code of a failed command, or of its first failed statement; 0 if all succeeded. */
export function codeIn(reply: Document): number {
  if (reply.ok !== 1) return typeof reply.code === 'number' ? reply.code : -1;
  const [first] = (reply.writeErrors as { code: number }[] | undefined) ?? [];
  return first?.code ?? 0;
}

/** @throws DoesNotHold unless the reply is a refusal with one of the codes */
export function expectRefused(what: string, reply: Document, ...codes: readonly number[]): void {
  if (!codes.includes(codeIn(reply)))
    throw new DoesNotHold(`${what} is refused with ${codes.join(' or ')}`, shownReply(reply));
}

/** @throws DoesNotHold unless the command succeeded */
export function expectDone(what: string, reply: Document): void {
  if (codeIn(reply) !== 0) throw new DoesNotHold(`${what} succeeds`, shownReply(reply));
}

/** A reply without the fields that every reply has. */
export function shownReply({ $clusterTime: _time, operationTime: _operation, ...reply }: Document): string {
  return shown(reply);
}
