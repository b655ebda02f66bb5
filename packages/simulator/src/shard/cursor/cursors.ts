import type { Timestamp } from 'bson';
import { randomBytes } from 'node:crypto';
import type { CommandError } from '../../node/command.js';
import type { Doc } from '../../bson/value.js';

/** One batch of a cursor. */
export interface Batch {
  readonly documents: Uint8Array[];
  /** True when nothing can follow. */
  readonly exhausted: boolean;
  /** The position after the batch: `{_data}` of a change stream, `{$recordId}` of a scan that asks for it. */
  readonly postBatchResumeToken?: Doc;
  /** Of a read at a time. */
  readonly atClusterTime?: Timestamp;
}

/** What an open cursor returns for a getMore. */
export interface BatchSource {
  /** The getMore waits for more. Only then it may carry a time limit. */
  readonly awaitsData?: true;
  /** @param size documents at most; undefined for as many as fit */
  next(size: number | undefined, maxTimeMs: number | undefined, signal: AbortSignal): Promise<Batch>;
  close(): void;
}

/** An open cursor of a client. */
export interface OpenCursor {
  readonly id: bigint;
  /** Number of cursors opened before it. */
  readonly number: number;
  readonly namespace: string;
  /** Hex of the UUID of its collection, so that a drop closes it. Undefined for streams. */
  readonly collectionUuid: string | undefined;
  /** Session that opened it, as text for messages. Undefined without one. */
  readonly session: string | undefined;
  readonly source: BatchSource;
  /** True for one that reads at a time. */
  readonly atTime?: boolean | undefined;
  lastUsedMs: number;
  inUse: boolean;
  /** The reason of its early end. */
  killedBy: CommandError | undefined;
}

/** Bound of open cursors. Above it the oldest idle one is closed. Far above what clients of a test need. */
const CURSORS_MAX = 10_000;

/** The open cursors of a node. */
export class Cursors {
  readonly #cursors = new Map<bigint, OpenCursor>();
  #opened = 0;
  /** Milliseconds that a cursor may be idle (`cursorTimeoutMillis`). */
  idleMsMax = 600_000;

  constructor(private readonly now: () => number) {}

  open(cursor: Pick<OpenCursor, 'namespace' | 'collectionUuid' | 'session' | 'source' | 'atTime'>): OpenCursor {
    if (this.#cursors.size >= CURSORS_MAX) this.expire(0);
    const opened: OpenCursor = {
      ...cursor,
      id: makeId(),
      number: this.#opened++,
      lastUsedMs: this.now(),
      inUse: false,
      killedBy: undefined,
    };
    this.#cursors.set(opened.id, opened);
    return opened;
  }

  /** How many have been opened so far. */
  get opened(): number {
    return this.#opened;
  }

  /** True while a cursor of a collection is open that is one of the first `count` cursors. */
  hasEarlier(collectionUuid: string, opened: number): boolean {
    for (const cursor of this.#cursors.values())
      if (cursor.number < opened && cursor.collectionUuid === collectionUuid) return true;
    return false;
  }

  get(id: bigint): OpenCursor | undefined {
    return this.#cursors.get(id);
  }

  close(cursor: OpenCursor): void {
    this.#cursors.delete(cursor.id);
    cursor.source.close();
  }

  /**
   * Closes the cursors of a collection. Their next getMore fails with the reason.
   * @param sparesAtTime those that read at a time stay open
   */
  killByCollection(uuid: string, reason: CommandError, sparesAtTime: boolean): void {
    for (const cursor of this.#cursors.values()) {
      if (cursor.collectionUuid === uuid && !(sparesAtTime && cursor.atTime === true)) cursor.killedBy = reason;
    }
  }

  /** Closes cursors that have been idle for longer than the timeout. */
  expire(timeoutMs = this.idleMsMax): void {
    const limit = this.now() - timeoutMs;
    for (const cursor of this.#cursors.values()) {
      if (!cursor.inUse && cursor.lastUsedMs <= limit) this.close(cursor);
    }
  }

  /** Closes the cursors of sessions; of all of them for undefined. */
  killBySession(sessions: ReadonlySet<string> | undefined): void {
    for (const cursor of this.#cursors.values()) {
      if (cursor.session !== undefined && (sessions === undefined || sessions.has(cursor.session))) this.close(cursor);
    }
  }

  /** How many are open. */
  get count(): number {
    return this.#cursors.size;
  }

  closeAll(): void {
    for (const cursor of [...this.#cursors.values()]) this.close(cursor);
  }
}

/** A random positive 63-bit number, as the server's cursor ids. */
function makeId(): bigint {
  const id = randomBytes(8).readBigUInt64LE() >> 1n;
  return id === 0n ? 1n : id;
}
