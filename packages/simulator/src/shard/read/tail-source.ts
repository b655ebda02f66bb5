import type { Batch, BatchSource } from '../cursor/cursors.js';
import type { Oplog } from '../oplog/oplog.js';
import { BATCH_BYTES_MAX } from './document-source.js';

/** How long a getMore waits for documents without a given time. */
const AWAIT_MS = 1000;

/** A tailable cursor: stays open at its end and continues with later documents. */
export class TailSource implements BatchSource {
  readonly awaitsData?: true;
  #opened = false;

  /**
   * @param next the next available document; undefined for none yet
   * @param awaits true when an empty batch waits for documents
   */
  constructor(
    private readonly take: () => Uint8Array | undefined,
    private readonly oplog: Oplog,
    awaits: boolean,
  ) {
    if (awaits) this.awaitsData = true;
  }

  async next(size: number | undefined, maxTimeMs: number | undefined, signal: AbortSignal): Promise<Batch> {
    const waits = this.#opened && this.awaitsData === true;
    this.#opened = true;
    const deadline = performance.now() + (waits ? (maxTimeMs ?? AWAIT_MS) : 0);
    for (;;) {
      const documents = this.#read(size ?? Infinity);
      const left = deadline - performance.now();
      if (documents.length > 0 || left <= 0 || signal.aborted) return { documents, exhausted: false };
      await this.oplog.waitForEntry(left, signal);
    }
  }

  close(): void {
    this.#opened = true;
  }

  #read(size: number): Uint8Array[] {
    const documents: Uint8Array[] = [];
    let bytes = 0;
    while (documents.length < size && bytes < BATCH_BYTES_MAX / 2) {
      const document = this.take();
      if (document === undefined) break;
      documents.push(document);
      bytes += document.length;
    }
    return documents;
  }
}
