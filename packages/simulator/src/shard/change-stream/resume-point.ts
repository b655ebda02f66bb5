import { compareTimestamps, compareValues } from '../../bson/compare.js';
import { encodeResumeToken, type ResumeToken } from '../../bson/resume-token.js';
import type { StreamEvent } from './event-start.js';
import { isBeyond } from './event-style.js';

/** The position of an event relative to the token at which a stream resumes. */
export type Standing = 'before' | 'found' | 'split' | 'behind';

/** The token at which a stream resumes, until a later event was found. */
export class ResumePoint {
  readonly #text: string;
  /** Token of the whole event of which the token names a part. */
  readonly #whole: string | undefined;

  /** @param text the token's `_data` from the client */
  constructor(
    readonly token: ResumeToken,
    text: string,
  ) {
    this.#text = text.toUpperCase();
    if (token.fragmentNum !== undefined) this.#whole = wholeEventToken(token);
  }

  /** `split`: the token names a part of the event. */
  standingOf(event: StreamEvent): Standing {
    if (event.tokenText === this.#text || isSameByIdAlone(this.token, event.token)) return 'found';
    if (event.tokenText === this.#whole) return 'split';
    if (isBeyond(this.token, event.token.clusterTime, event.token.txnOpIndex)) return 'behind';
    return event.tokenText < this.#text ? 'before' : 'behind';
  }
}

/** The same event, of whose key one token has the `_id` only: its collection was sharded between both reads. */
function isSameByIdAlone(given: ResumeToken, met: ResumeToken): boolean {
  const [a, b] = [given.eventIdentifier, met.eventIdentifier];
  if (
    given.version !== 1 ||
    !(a instanceof Map) ||
    !(b instanceof Map) ||
    a.size === b.size ||
    Math.min(a.size, b.size) !== 1
  )
    return false;
  if (compareTimestamps(given.clusterTime, met.clusterTime) !== 0 || given.txnOpIndex !== met.txnOpIndex) return false;
  return compareValues(a.get('_id') ?? null, b.get('_id') ?? null) === 0;
}

function wholeEventToken(token: ResumeToken): string {
  const whole: ResumeToken = { ...token };
  delete whole.fragmentNum;
  return encodeResumeToken(whole);
}
