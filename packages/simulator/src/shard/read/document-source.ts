import { CommandError } from '../../node/command.js';
import type { Doc } from '../../bson/value.js';
import { computed } from '../execution-error.js';
import { timeExpired } from '../command-limits.js';
import type { Batch, BatchSource } from '../cursor/cursors.js';
import type { History } from '../storage/history.js';
import { timeKey, timeText } from '../storage/time-key.js';
import type { Timestamp } from 'bson';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Bytes of a batch at most: 16 MB, so that a reply stays below the largest BSON object. */
export const BATCH_BYTES_MAX = 16 * 1024 * 1024;

/** How long a read may hold the event loop before other work runs. */
const SLICE_MS = 10;
/** Candidates between two checks of the clock. */
const SLICE_CANDIDATES = 256;

/**
 * Documents of a read, one batch at a time. The iterator yields `undefined` for a candidate outside of the result, so
 * that long searches without results can be interrupted.
 */
export class DocumentSource implements BatchSource {
  /** A document that did not fit into the last batch. */
  #kept: Uint8Array | undefined;
  #done = false;

  /**
   * @param atClusterTime of a read at a time, which fails once the history no longer reaches back to it
   * @param token where the read is, if the client has asked for it
   */
  constructor(
    private readonly documents: Iterator<Uint8Array | undefined>,
    private readonly history: History,
    private readonly atClusterTime: Timestamp | undefined,
    private readonly token?: () => Doc,
  ) {}

  async next(size: number | undefined, maxTimeMs: number | undefined, signal: AbortSignal): Promise<Batch> {
    this.#refuseForgotten();
    const batch: Uint8Array[] = [];
    const started = Date.now();
    let slice = started;
    let bytes = 0;
    let candidates = 0;
    let token = this.token?.();
    while (!this.#done && (size === undefined || batch.length < size)) {
      const document = this.#take();
      candidates += 1;
      if (maxTimeMs !== undefined && maxTimeMs > 0 && Date.now() - started > maxTimeMs) throw timeExpired();
      if (candidates % SLICE_CANDIDATES === 0 && Date.now() - slice > SLICE_MS) {
        await nextTurn();
        if (signal.aborted) break;
        slice = Date.now();
      }
      if (document === undefined) continue;
      if (batch.length > 0 && bytes + document.length > BATCH_BYTES_MAX) {
        this.#kept = document;
        break;
      }
      bytes += document.length;
      batch.push(document);
      token = this.token?.();
    }
    if (this.#done) token = this.token?.();
    const exhausted = this.#done && this.#kept === undefined;
    return {
      documents: batch,
      exhausted,
      ...(token === undefined ? {} : { postBatchResumeToken: token }),
      ...(this.atClusterTime === undefined ? {} : { atClusterTime: this.atClusterTime }),
    };
  }

  close(): void {
    this.#done = true;
    this.documents.return?.();
  }

  #take(): Uint8Array | undefined {
    const kept = this.#kept;
    if (kept !== undefined) {
      this.#kept = undefined;
      return kept;
    }
    const next = computed(() => this.documents.next());
    if (next.done === true) {
      this.#done = true;
      return undefined;
    }
    return next.value;
  }

  #refuseForgotten(): void {
    if (this.atClusterTime !== undefined) refuseForgotten(this.history, this.atClusterTime);
  }
}

/** @throws CommandError 239 for a time that the history no longer reaches back to */
export function refuseForgotten(history: History, atClusterTime: Timestamp): void {
  if (timeKey(atClusterTime) >= history.oldestReadable()) return;
  throw new CommandError(
    239,
    'SnapshotTooOld',
    `Read timestamp ${timeText(atClusterTime)} is older than the oldest available timestamp.`,
  );
}
