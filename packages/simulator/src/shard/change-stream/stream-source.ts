import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ServerVersion } from '../../node/server-version.js';
import type { Batch, BatchSource } from '../cursor/cursors.js';
import { BATCH_BYTES_MAX } from '../read/document-source.js';
import type { ShardChangeStream } from './shard-change-stream.js';
import { getMoreContext, inContext, openContext } from './stream-failure.js';

/** How long a getMore waits for events without a given time. */
const AWAIT_MS = 1000;

/** A change stream as a cursor: an empty batch waits for events, and every batch carries its position. */
export class StreamSource implements BatchSource {
  readonly awaitsData = true;
  #opened = false;

  constructor(
    private readonly stream: ShardChangeStream,
    private readonly version: ServerVersion,
  ) {}

  async next(size: number | undefined, maxTimeMs: number | undefined, signal: AbortSignal): Promise<Batch> {
    const waitMs = this.#opened ? (maxTimeMs ?? AWAIT_MS) : 0;
    const context = this.#opened ? getMoreContext(this.version) : openContext(this.version);
    this.#opened = true;
    try {
      const documents = size === 0 ? [] : await this.#read(size ?? Infinity, performance.now() + waitMs, signal);
      return { documents, exhausted: this.stream.ended, postBatchResumeToken: this.stream.positionToken };
    } catch (error) {
      throw inContext(error, context);
    }
  }

  close(): void {
    this.stream.close();
  }

  async #read(size: number, deadline: number, signal: AbortSignal): Promise<Uint8Array[]> {
    const documents: Uint8Array[] = [];
    let bytes = 0;
    for (;;) {
      const events = this.stream.take(size - documents.length, BATCH_BYTES_MAX - bytes, documents.length === 0);
      for (const event of events) {
        documents.push(event.bytes);
        bytes += event.bytes.length;
      }
      if (this.stream.ended || documents.length >= size || signal.aborted) return documents;
      if (!this.stream.atEnd) {
        const full = bytes >= FULL_BATCH_BYTES || (events.length === 0 && documents.length > 0);
        if (full) return documents;
        await nextTurn();
        continue;
      }
      const left = deadline - performance.now();
      if (documents.length > 0 || left <= 0) return documents;
      await this.stream.waitForChange(left, signal);
    }
  }
}

/** A batch of this size is sent without a search for more events that might fit. */
const FULL_BATCH_BYTES = BATCH_BYTES_MAX * 0.75;
