import { setTimeout as delay } from 'node:timers/promises';
import { type Collection, type MongoClient, MongoServerError } from 'mongodb';
import { benchDocument, benchNamespace } from '../copy/bench-documents.js';

export const writesPerSecond = 1_000;
/** Writers for that rate where a write takes about 40 ms. Each has an equal part of the documents. */
const writersCount = 50;
/** Duration of the writes before a commit, while changes are applied. */
const writing_ms = 5_000;
/** At full scale. */
const documentsMax = 20_000;
/** A server's error code for users while their writes are blocked. */
const blockedCode = 371;
/** `_id`s of new documents start here. */
const firstNewId = 10_000_000;
const perSecond = 1_000;

/** Number of documents that the writers find. */
export function documentsToWrite(scale: number): number {
  return Math.max(1, Math.round((documentsMax * Math.min(1, scale)) / writersCount)) * writersCount;
}

type Documents = Collection<{ _id: number; writes?: number }>;

/** Users who write their own documents at a rate, one write after the other, until the server rejects them. */
export class PacedWriters {
  /** The cluster's acknowledged writes: the number of writes of each document. */
  readonly acknowledged = new Map<number, number>();
  /** When the first write was rejected, in milliseconds since 1970. */
  refusedAt_ms: number | null = null;
  /** Resolves once all writers were rejected. */
  readonly refused: Promise<void>;
  private readonly from_ms = Date.now();
  /** Acknowledged writes. */
  writes = 0;
  private last_ms = this.from_ms;

  /**
   * @param loaded documents with `_id` from 0, as many as `documentsToWrite` says
   * @param end stops the writers, where the server cannot reject them
   */
  constructor(
    client: MongoClient,
    private readonly loaded: number,
    private readonly end?: AbortSignal,
  ) {
    const documents: Documents = client.db(benchNamespace.database).collection(benchNamespace.collection);
    this.refused = Promise.all(Array.from({ length: writersCount }, (_, writer) => this.write(documents, writer))).then(
      () => undefined,
    );
    this.refused.catch(() => undefined);
  }

  /** Resolves after some seconds of writes. @throws the failure of a writer */
  async untilWritten(signal: AbortSignal): Promise<void> {
    await Promise.race([delay(writing_ms, undefined, { signal }), this.refused]);
  }

  /** Acknowledged writes per second, until now or the rejection. */
  get writtenPerSecond(): number {
    return (this.writes * perSecond) / (this.last_ms - this.from_ms);
  }

  /** A cluster's documents that differ from the source's acknowledged writes. */
  async missingOn(client: MongoClient): Promise<number> {
    const documents: Documents = client.db(benchNamespace.database).collection(benchNamespace.collection);
    const found = new Map<number, number>();
    for await (const { _id, writes } of documents.find({}, { projection: { writes: 1 } })) found.set(_id, writes ?? 0);
    return [...this.acknowledged].filter(([id, writes]) => found.get(id) !== writes).length;
  }

  private async write(documents: Documents, writer: number): Promise<void> {
    const pause_ms = (writersCount * perSecond) / writesPerSecond;
    try {
      for (let nth = 0; this.end?.aborted !== true; nth += 1) {
        await this.writeOne(documents, nth * writersCount + writer, nth % 2 === 0);
        const ahead_ms = this.from_ms + (nth + 1) * pause_ms - Date.now();
        if (ahead_ms > 0) await delay(ahead_ms);
      }
    } catch (error) {
      if (!(error instanceof MongoServerError && error.code === blockedCode)) throw error;
      this.refusedAt_ms ??= Date.now();
    }
  }

  private async writeOne(documents: Documents, number: number, isNew: boolean): Promise<void> {
    const _id = isNew ? firstNewId + number : number % this.loaded;
    const writes = (this.acknowledged.get(_id) ?? 0) + 1;
    if (isNew) await documents.insertOne({ ...benchDocument(_id), _id, writes });
    else await documents.updateOne({ _id }, { $set: { writes } });
    this.acknowledged.set(_id, writes);
    this.writes += 1;
    this.last_ms = Date.now();
  }
}
