import type { Document } from 'mongodb';
import type { Door } from '../cluster/door.js';

/** Database on the destination that holds all durable state; never synced. */
export const metadataDatabase = 'convoy_metadata';

/** Collections of the metadata database. */
export type MetadataCollection = 'migration' | 'shares' | 'collections' | 'partitions' | 'repairs' | 'fence';

/** Runs an operation again while its failure is retryable, within the process's one retry policy. */
export type Retrying = <T>(label: string, operation: () => Promise<T>, signal: AbortSignal) => Promise<T>;

/** Read in one batch where possible; metadata documents are few. */
const findBatchDocumentsMax = 10_000;

/**
 * Reads and writes of the metadata database. Everything is read and written at majority.
 * Writes are conditional by their filter, so that repeating one whose outcome is unknown does no harm.
 */
export class Metadata {
  constructor(
    private readonly door: Door,
    private readonly retrying: Retrying,
  ) {}

  async findOne(collection: MetadataCollection, filter: Document, signal: AbortSignal): Promise<Document | null> {
    const command = { find: collection, filter, limit: 1, singleBatch: true, readConcern: { level: 'majority' } };
    const reply = await this.#run(`read ${collection}`, command, signal);
    return firstBatch(reply)[0] ?? null;
  }

  /** All documents that match, in order of `_id`. */
  async find(collection: MetadataCollection, filter: Document, signal: AbortSignal): Promise<Document[]> {
    const documents: Document[] = [];
    let after: unknown;
    for (;;) {
      const page = await this.#page(collection, filter, after, signal);
      documents.push(...page);
      const last = page.at(-1);
      // A page may be short because its documents are large: a reply holds 16 MB.
      if (last === undefined) return documents;
      after = last._id;
    }
  }

  async #page(collection: MetadataCollection, filter: Document, after: unknown, signal: AbortSignal): Promise<Document[]> {
    const conditions = after === undefined ? filter : { $and: [filter, { _id: { $gt: after } }] };
    const command = {
      find: collection,
      filter: conditions,
      sort: { _id: 1 },
      limit: findBatchDocumentsMax,
      batchSize: findBatchDocumentsMax,
      singleBatch: true,
      readConcern: { level: 'majority' },
    };
    return firstBatch(await this.#run(`read ${collection}`, command, signal));
  }

  /** Updates one document. Returns whether one matched the filter (or was upserted). */
  async updateOne(
    collection: MetadataCollection,
    filter: Document,
    update: Document,
    signal: AbortSignal,
    options: { upsert?: boolean } = {},
  ): Promise<boolean> {
    const statement = { q: filter, u: update, upsert: options.upsert ?? false };
    const command = { update: collection, updates: [statement], writeConcern: { w: 'majority' } };
    const reply = await this.#run(`write ${collection}`, command, signal);
    return Number(reply.n) > 0;
  }

  /** Updates all documents that match. */
  async updateMany(collection: MetadataCollection, filter: Document, update: Document, signal: AbortSignal): Promise<void> {
    const command = { update: collection, updates: [{ q: filter, u: update, multi: true }], writeConcern: { w: 'majority' } };
    await this.#run(`write ${collection}`, command, signal);
  }

  /** Updates one document and returns it as it is afterwards; null when none matched. */
  async findAndUpdate(
    collection: MetadataCollection,
    filter: Document,
    update: Document,
    signal: AbortSignal,
    options: { upsert?: boolean } = {},
  ): Promise<Document | null> {
    const command = {
      findAndModify: collection,
      query: filter,
      update,
      new: true,
      upsert: options.upsert ?? false,
      writeConcern: { w: 'majority' },
    };
    const reply = await this.#run(`write ${collection}`, command, signal);
    return (reply.value as Document | null | undefined) ?? null;
  }

  /** Upserts many documents by `_id`, each as a whole. */
  async putMany(collection: MetadataCollection, documents: readonly Document[], signal: AbortSignal): Promise<void> {
    await this.upsertEach(collection, documents.map((document) => ({ q: { _id: document._id as unknown }, u: document })), signal);
  }

  /**
   * Upserts one document per statement. A filter that names an `_id` and a condition which the document there does not
   * meet is refused.
   * @throws MetadataWriteError with code 11000 then
   */
  async upsertEach(collection: MetadataCollection, statements: readonly { q: Document; u: Document }[], signal: AbortSignal): Promise<void> {
    if (statements.length === 0) return;
    const updates = statements.map((statement) => ({ ...statement, upsert: true }));
    await this.#run(`write ${collection}`, { update: collection, updates, ordered: false, writeConcern: { w: 'majority' } }, signal);
  }

  async deleteMany(collection: MetadataCollection, filter: Document, signal: AbortSignal): Promise<void> {
    const command = { delete: collection, deletes: [{ q: filter, limit: 0 }], writeConcern: { w: 'majority' } };
    await this.#run(`write ${collection}`, command, signal);
  }

  async #run(label: string, command: Document, signal: AbortSignal): Promise<Document> {
    return this.retrying(
      label,
      async () => {
        const reply = await this.door.command(metadataDatabase, command, { signal });
        throwWriteError(reply);
        return reply;
      },
      signal,
    );
  }
}

/** A failed statement or write concern of a metadata write, with the server's code. */
export class MetadataWriteError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
    this.name = 'MetadataWriteError';
  }
}

/** @throws MetadataWriteError for the first failed statement of a write, or its write concern: the driver throws for neither */
export function throwWriteError(reply: Document): void {
  const failures = reply.writeErrors as { code: number; errmsg?: string }[] | undefined;
  const concern = reply.writeConcernError as { code: number; errmsg?: string } | undefined;
  const failure = failures?.[0] ?? concern;
  if (failure !== undefined) throw new MetadataWriteError(failure.code, failure.errmsg ?? 'metadata write failed');
}

function firstBatch(reply: Document): Document[] {
  const cursor = reply.cursor as { firstBatch: Document[] };
  return cursor.firstBatch;
}
