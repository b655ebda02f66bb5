import type { Timestamp } from 'bson';
import { encodeDocument } from '../../bson/encode.js';
import { highWaterToken, resumeTokenDocument } from '../../bson/resume-token.js';
import type { Doc } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import type { OplogEntry } from '../oplog/entry.js';
import type { Oplog } from '../oplog/oplog.js';
import type { ShardStream, ShardStreamEvent } from '../shard-access.js';
import { timeKey } from '../storage/time-key.js';
import { invalidateEvent, streamEvent, type EventStyle, type StreamEvent } from './stream-event.js';
import type { EventPipeline } from './event-pipeline.js';
import { ScopeFilter } from './stream-scope.js';

/** Oplog entries that one call looks at, so that a stream that shows few of them does not hold up the others. */
const SCAN_ENTRIES_MAX = 4096;

/** Where a stream begins: events at `clusterTime` and later, but only those behind `token`. */
export interface StreamPosition {
  readonly clusterTime: Timestamp;
  readonly token: string | undefined;
  /** The event that the token stands for must be there (streams of a single node). */
  readonly mustFind: boolean;
}

export interface StreamSetup {
  readonly oplog: Oplog;
  readonly scope: ScopeFilter;
  readonly position: StreamPosition;
  readonly style: EventStyle;
  readonly pipeline: EventPipeline;
}

/** A change stream over one shard's oplog. */
export class ShardChangeStream implements ShardStream {
  readonly #setup: StreamSetup;
  #next: number;
  #operation = 0;
  /** Skips events up to the token; cleared once one behind it was seen. */
  #after: string | undefined;
  #mustFind: boolean;
  #scannedTo: Timestamp;
  #lastToken: Doc;
  #ended = false;

  constructor(setup: StreamSetup) {
    const { oplog, position } = setup;
    this.#setup = setup;
    this.#next = oplog.firstAtOrAfter(timeKey(position.clusterTime));
    this.#after = position.token;
    this.#mustFind = position.mustFind;
    this.#scannedTo = position.clusterTime;
    this.#lastToken = position.token === undefined ? highWater(position.clusterTime) : new Map([['_data', position.token]]);
    this.#refuseLost(timeKey(position.clusterTime));
  }

  get scannedTo(): Timestamp {
    return this.#scannedTo;
  }

  /** True when all that has been written was looked at. */
  get atEnd(): boolean {
    return this.#ended || this.#next >= this.#setup.oplog.end;
  }

  /** True behind an invalidate event. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Token of the position reached, for `postBatchResumeToken`. */
  get positionToken(): Doc {
    const reached = highWater(this.#scannedTo);
    return (reached.get('_data') as string) > (this.#lastToken.get('_data') as string) ? reached : this.#lastToken;
  }

  take(eventsMax: number, bytesMax: number, atLeastOne = true): ShardStreamEvent[] {
    const taken: ShardStreamEvent[] = [];
    const { oplog } = this.#setup;
    let bytes = 0;
    for (let scanned = 0; scanned < SCAN_ENTRIES_MAX && !this.#ended; scanned += 1) {
      if (this.#next < oplog.start) throw historyLost();
      const entry = oplog.at(this.#next);
      if (entry === undefined) break;
      while (this.#operation < entry.operations.length) {
        const outcome = this.#outcomeAt(entry);
        if (outcome !== undefined) {
          const size = outcome.events.reduce((sum, event) => sum + event.bytes.length, 0);
          const mayExceed = taken.length === 0 && atLeastOne;
          if (taken.length >= eventsMax || (bytes + size > bytesMax && !mayExceed)) return taken;
          bytes += size;
          taken.push(...outcome.events);
          this.#lastToken = outcome.token;
          this.#ended = outcome.ends;
          if (outcome.ends) return taken;
        }
        this.#operation += 1;
      }
      this.#next += 1;
      this.#operation = 0;
      this.#scannedTo = entry.clusterTime;
    }
    return taken;
  }

  waitForChange(timeoutMs: number, signal: AbortSignal): Promise<void> {
    return this.atEnd && !this.#ended ? this.#setup.oplog.waitForEntry(timeoutMs, signal) : Promise.resolve();
  }

  close(): void {
    this.#ended = true;
  }

  /** What the operation that the stream stands at gives; undefined when the stream does not show it. */
  #outcomeAt(entry: OplogEntry): Outcome | undefined {
    const { scope, style, pipeline } = this.#setup;
    const operation = entry.operations[this.#operation];
    if (operation === undefined || !scope.shows(operation)) return undefined;
    const event = streamEvent(entry, this.#operation, style);
    if (event === undefined) return undefined;
    const events: ShardStreamEvent[] = [];
    if (this.#passes(event)) {
      for (const doc of pipeline.run(event.doc)) events.push(encoded(event, doc));
    }
    if (!scope.invalidatedBy(operation)) return { events, token: this.#later(event), ends: false };
    const invalidation = invalidateEvent(entry, this.#operation);
    if (!this.#passes(invalidation)) return { events, token: this.#later(invalidation), ends: false };
    return { events: [...events, encoded(invalidation, invalidation.doc)], token: invalidation.tokenDocument, ends: true };
  }

  /** Positions only move forward, also while events up to the resume token are skipped. */
  #later(event: StreamEvent): Doc {
    return event.token > (this.#lastToken.get('_data') as string) ? event.tokenDocument : this.#lastToken;
  }

  /** False for events up to the token that the stream was resumed with. */
  #passes(event: StreamEvent): boolean {
    const after = this.#after;
    if (after === undefined) return true;
    if (event.token === after) {
      this.#mustFind = false;
      return false;
    }
    if (event.token < after) return false;
    if (this.#mustFind) throw tokenNotFound(after);
    this.#after = undefined;
    return true;
  }

  #refuseLost(time: number): void {
    if (!this.#setup.oplog.reachesBackTo(time)) throw historyLost();
  }
}

interface Outcome {
  readonly events: ShardStreamEvent[];
  readonly token: Doc;
  /** True when the stream ends behind these events. */
  readonly ends: boolean;
}

function encoded(event: StreamEvent, doc: Doc): ShardStreamEvent {
  return { token: event.token, clusterTime: event.clusterTime, bytes: encodeDocument(doc), invalidates: event.invalidates };
}

/** The token of a position between events. */
export function highWater(clusterTime: Timestamp): Doc {
  return resumeTokenDocument(highWaterToken(clusterTime));
}

function historyLost(): CommandError {
  return new CommandError(
    286,
    'ChangeStreamHistoryLost',
    'Resume of change stream was not possible, as the resume point may no longer be in the oplog.',
    ['NonResumableChangeStreamError'],
  );
}

function tokenNotFound(token: string): CommandError {
  return new CommandError(
    280,
    'ChangeStreamFatalError',
    `cannot resume stream; the resume token was not found. {_data: "${token}"}`,
    ['NonResumableChangeStreamError'],
  );
}
