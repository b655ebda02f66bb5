import type { Timestamp } from 'bson';
import { encodeDocument } from '../../bson/encode.js';
import { highWaterToken, resumeTokenDocument, type ResumeTokenVersion } from '../../bson/resume-token.js';
import { documentText } from '../../bson/text.js';
import { type Doc, RawDocument } from '../../bson/value.js';
import type { OplogEntry, OplogOperation } from '../oplog/entry.js';
import type { Oplog } from '../oplog/oplog.js';
import type { ShardStream, ShardStreamEvent } from './shard-stream.js';
import { timeKey } from '../storage/time-key.js';
import type { StreamEvent } from './event-start.js';
import type { EventPipeline } from './event-pipeline.js';
import type { EventStyle } from './event-style.js';
import type { ResumePoint } from './resume-point.js';
import { EVENT_BYTES_MAX, splitEvent, type EventFragment } from './split-event.js';
import { invalidateEvent, streamEvent } from './stream-event.js';
import { eventTooLarge, fatal, historyLost, positionLost, tokenNotFound } from './stream-failure.js';
import type { ScopeFilter } from './stream-scope.js';

/** Oplog entries that one call reads, so that a stream that shows few of them does not block the others. */
const SCAN_ENTRIES_MAX = 4096;
/** The largest document that the server handles (`BSONObjMaxInternalSize`). */
const DOCUMENT_BYTES_MAX = 16 * 1024 * 1024 + 16 * 1024;

/** Events of smaller documents fit into a reply. */
const largeDocumentMin = 4 * 1024 * 1024;

/** The start of a stream: events at `clusterTime` and later, but only those after the resume point. */
export interface StreamPosition {
  readonly clusterTime: Timestamp;
  readonly resume: ResumePoint | undefined;
  /** The token from the client. Undefined for a time. */
  readonly token: string | undefined;
}

interface StreamSetup {
  readonly oplog: Oplog;
  readonly scope: ScopeFilter;
  readonly position: StreamPosition;
  readonly style: EventStyle;
  readonly pipeline: EventPipeline;
  /** The event of the token must come first: for streams of this shard alone. A router checks over all shards. */
  readonly alone: boolean;
  /** Format of the tokens of empty batches. */
  readonly tokenVersion: ResumeTokenVersion;
}

/** A pending event, with the token that the stream has reached with it. */
interface OutgoingEvent extends ShardStreamEvent {
  readonly tokenDocument: Doc;
}

/** A change stream over one shard's oplog. */
export class ShardChangeStream implements ShardStream {
  readonly #setup: StreamSetup;
  #next: number;
  #operation = 0;
  /** The current entry, while its operations are read. */
  #entry: OplogEntry | undefined;
  #started = false;
  /** Cleared once a later event was found. */
  #resume: ResumePoint | undefined;
  #tokenSeen: boolean;
  /** The first event may have ended the stream that this one continues: it does not end this one too. */
  #afterInvalidate: boolean;
  #scannedTo: Timestamp;
  #lastToken: Doc;
  /** Pending events of the last operation. */
  #pending: OutgoingEvent[] = [];
  #ended = false;

  constructor(setup: StreamSetup) {
    const { oplog, position } = setup;
    this.#setup = setup;
    this.#next = oplog.firstAtOrAfter(timeKey(position.clusterTime));
    this.#resume = position.resume;
    this.#tokenSeen = position.resume === undefined;
    this.#afterInvalidate = position.resume?.token.fromInvalidate === true;
    this.#scannedTo = position.clusterTime;
    this.#lastToken =
      position.token === undefined ? this.#highWater(position.clusterTime) : new Map([['_data', position.token]]);
  }

  get scannedTo(): Timestamp {
    return this.#scannedTo;
  }

  get tokenSeen(): boolean {
    return this.#tokenSeen;
  }

  /** True when all entries have been read. */
  get atEnd(): boolean {
    return this.#ended || (this.#pending.length === 0 && this.#next >= this.#setup.oplog.end);
  }

  /** True after an invalidate event. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Token of the position reached, for `postBatchResumeToken`. */
  get positionToken(): Doc {
    if (this.#pending.length > 0) return this.#lastToken;
    const reached = this.#highWater(this.#scannedTo);
    return (reached.get('_data') as string) > (this.#lastToken.get('_data') as string) ? reached : this.#lastToken;
  }

  take(eventsMax: number, bytesMax: number, atLeastOne = true): ShardStreamEvent[] {
    const taken: ShardStreamEvent[] = [];
    const { oplog } = this.#setup;
    this.#refuseLost();
    let bytes = 0;
    for (let scanned = 0; scanned < SCAN_ENTRIES_MAX && !this.#ended && taken.length < eventsMax;) {
      const [outgoing] = this.#pending;
      if (outgoing !== undefined) {
        const mayExceed = taken.length === 0 && atLeastOne;
        if (bytes + outgoing.bytes.length > bytesMax && !mayExceed) return taken;
        bytes += outgoing.bytes.length;
        taken.push(outgoing);
        this.#pending.shift();
        this.#lastToken = outgoing.tokenDocument;
        this.#ended = outgoing.invalidates;
        continue;
      }
      const entry = this.#operation > 0 ? this.#entry : oplog.at(this.#next);
      if (entry === undefined) break;
      this.#entry = entry;
      const operation = entry.operations[this.#operation];
      if (operation !== undefined) {
        this.#operation += 1;
        this.#lookAt(entry, this.#operation - 1, operation);
      } else {
        this.#next += 1;
        this.#operation = 0;
        this.#entry = undefined;
        this.#scannedTo = entry.clusterTime;
        scanned += 1;
      }
    }
    return taken;
  }

  waitForChange(timeoutMs: number, signal: AbortSignal): Promise<void> {
    return this.atEnd && !this.#ended ? this.#setup.oplog.waitForEntry(timeoutMs, signal) : Promise.resolve();
  }

  close(): void {
    this.#ended = true;
    this.#pending = [];
  }

  /** Builds the events of one operation, if the stream shows it. */
  #lookAt(entry: OplogEntry, operationIndex: number, operation: OplogOperation): void {
    const { scope, style } = this.#setup;
    if (!scope.shows(operation)) return;
    const event = streamEvent(entry, operationIndex, style);
    if (event === undefined) return;
    this.#hand(event);
    const afterInvalidate = this.#afterInvalidate;
    this.#afterInvalidate = false;
    if (!scope.invalidatedBy(operation)) return;
    const invalidation = invalidateEvent(event);
    if (afterInvalidate && this.#resume?.standingOf(invalidation) !== 'found') return;
    this.#hand(invalidation);
  }

  /** Queues an event unless it lies before the resume point. */
  #hand(event: StreamEvent): void {
    const standing = this.#resume?.standingOf(event) ?? 'behind';
    if (standing === 'found' || standing === 'split') this.#tokenSeen = true;
    if (standing === 'found' || standing === 'before') return;
    if (this.#setup.alone && !this.#tokenSeen) throw tokenNotFound(event.tokenText);
    const skipped = standing === 'split' ? this.#resume?.token.fragmentNum : undefined;
    this.#resume = undefined;
    this.#refuseTooLargeForRouter(event);
    if (event.invalidates) this.#pending.push(outgoing(event, event.doc));
    else for (const doc of this.#setup.pipeline.run(event.doc)) this.#send(event, doc, skipped);
    if (this.#pending.length === 0) this.#lastToken = event.tokenDocument;
  }

  /**
   * A router before 6.0 runs a stream's stages itself: the shard sends it whole events, whatever the stages leave of
   * them (seen on 5.0.7).
   */
  #refuseTooLargeForRouter(event: StreamEvent): void {
    const { alone, style } = this.#setup;
    const document = event.doc.get('fullDocument');
    if (
      alone ||
      style.version.atLeast(6) ||
      !(document instanceof RawDocument) ||
      document.bytes.length < largeDocumentMin
    )
      return;
    const { length } = outgoing(event, event.doc).bytes;
    if (length > DOCUMENT_BYTES_MAX) throw eventTooLarge(length, DOCUMENT_BYTES_MAX, firstElement(event.tokenDocument));
  }

  /** @param resumedAfter number of the part after which the stream resumes */
  #send(event: StreamEvent, doc: Doc, resumedAfter: number | undefined): void {
    const whole = outgoing(event, doc);
    if (!this.#setup.pipeline.splitsEvents) {
      if (resumedAfter !== undefined) {
        throw fatal(
          'To resume from a split event, the $changeStream pipeline must include a $changeStreamSplitLargeEvent stage',
        );
      }
      if (whole.bytes.length > DOCUMENT_BYTES_MAX)
        throw eventTooLarge(whole.bytes.length, DOCUMENT_BYTES_MAX, firstElement(event.tokenDocument));
      this.#pending.push(whole);
      return;
    }
    if (whole.bytes.length > EVENT_BYTES_MAX) {
      this.#pending.push(
        ...remainingFragments(splitEvent(doc, event.token, event.tokenDocument), resumedAfter).map((part) =>
          fragmentOf(event, part),
        ),
      );
    } else if (resumedAfter === undefined) this.#pending.push(whole);
    else
      throw fatal(
        'Attempted to resume from a split event fragment, but the event in the resumed stream was not large ' +
          'enough to be split',
      );
  }

  #highWater(clusterTime: Timestamp): Doc {
    return resumeTokenDocument(highWaterToken(clusterTime, this.#setup.tokenVersion));
  }

  /** A starting stream needs the history back to its start. A running one needs the next entry. */
  #refuseLost(): void {
    const { oplog, position } = this.#setup;
    if (this.#started) {
      if (this.#next < oplog.start)
        throw positionLost(BigInt(this.#scannedTo.t) * 2n ** 32n + BigInt(this.#scannedTo.i));
      return;
    }
    this.#started = true;
    if (!oplog.reachesBackTo(timeKey(position.clusterTime))) throw historyLost();
  }
}

function outgoing(event: StreamEvent, doc: Doc): OutgoingEvent {
  return {
    token: event.tokenText,
    clusterTime: event.token.clusterTime,
    bytes: encodeDocument(doc),
    invalidates: event.invalidates,
    tokenDocument: event.tokenDocument,
  };
}

function fragmentOf(event: StreamEvent, { token, tokenDocument, doc }: EventFragment): OutgoingEvent {
  return { token, clusterTime: event.token.clusterTime, bytes: encodeDocument(doc), invalidates: false, tokenDocument };
}

function remainingFragments(
  fragments: readonly EventFragment[],
  resumedAfter: number | undefined,
): readonly EventFragment[] {
  if (resumedAfter === undefined) return fragments;
  if (resumedAfter < fragments.length) return fragments.slice(resumedAfter + 1);
  throw fatal(
    'Attempted to resume from a split event, but the resumed stream produced a different split. Ensure that ' +
      'the pipeline used to resume is the same as the original',
  );
}

function firstElement(tokenDocument: Doc): string {
  return documentText(new Map([['_id', tokenDocument]])).slice(2, -2);
}
