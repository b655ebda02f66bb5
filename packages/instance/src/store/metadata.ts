import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { BSON, type Document, type Long } from 'mongodb';
import type { Retrying } from '../async/retry.js';
import { commandBytesMax, partsWithin } from '../cluster/driver/write-command.js';
import { classify, duplicateKeyCode } from '../cluster/failure.js';
import type { NodeClient } from '../cluster/node-client.js';

/** Database on the destination with all durable state; never synced. */
export const metadataDatabase = 'convoy_metadata';

export type MetadataCollection =
  | 'migration'
  | 'tasks'
  | 'collections'
  | 'committedCollections'
  | 'openedCollections'
  | 'partitions'
  | 'rereads'
  | 'ddlChanges'
  | 'uuids'
  | 'history'
  | 'fence'
  | 'verificationPlans'
  | 'verificationParts'
  | 'mismatches'
  | 'carried';

const findBatchDocumentsMax = 10_000;

/**
 * Servers with `notablescan` refuse a condition without an index: then all documents are taken in order of `_id`. A
 * router does not show this parameter of its shards.
 */
function indexed(filter: Document): { hint?: Document } {
  return '_id' in filter ? {} : { hint: { _id: 1 } };
}

/**
 * Reads and writes the metadata database at majority.
 * The filters make writes conditional, so that a write with an unknown outcome can be repeated.
 */
export class Metadata {
  constructor(
    private readonly client: NodeClient,
    private readonly retrying: Retrying,
  ) {}

  async findOne(collection: MetadataCollection, filter: Document, signal: AbortSignal): Promise<Document | null> {
    const once = { limit: 1, singleBatch: true, readConcern: { level: 'majority' } };
    const command = { find: collection, filter, ...indexed(filter), ...once };
    const reply = await this.#run(`read ${collection}`, command, signal);
    return cursorOf(reply).firstBatch[0] ?? null;
  }

  /** All matching documents, in order of `_id`. */
  find(collection: MetadataCollection, filter: Document, signal: AbortSignal): Promise<Document[]> {
    return this.findSome(collection, filter, Infinity, signal);
  }

  /**
   * The first matching documents, in order of `_id`: fewer than `limit` only when there are no more.
   * @param projection of fields besides `_id`; whole documents by default
   */
  async findSome(
    collection: MetadataCollection,
    filter: Document,
    limit: number,
    signal: AbortSignal,
    projection: Document = {},
  ): Promise<Document[]> {
    const documents: Document[] = [];
    for (;;) {
      const wanted = Math.min(limit - documents.length, findBatchDocumentsMax);
      const last = documents.at(-1);
      const command = {
        find: collection,
        filter: last === undefined ? filter : { $and: [filter, { _id: { $gt: last._id as unknown } }] },
        projection,
        sort: { _id: 1 },
        limit: wanted,
        // Without a batch size, servers return only 101 documents.
        batchSize: wanted,
        readConcern: { level: 'majority' },
      };
      const { firstBatch: page, id } = cursorOf(await this.#run(`read ${collection}`, command, signal));
      documents.push(...page);
      const isOpen = id !== undefined && Number(id) !== 0;
      // Each call is retried by itself, so no cursor stays open between calls.
      if (isOpen) await this.#run(`read ${collection}`, { killCursors: collection, cursors: [id] }, signal);
      if ((!isOpen && page.length < wanted) || documents.length >= limit) return documents;
    }
  }

  /** `copy` and `task` of all matching documents; for documents whose rest is large. */
  async findNames(
    collection: MetadataCollection,
    filter: Document,
    signal: AbortSignal,
  ): Promise<{ copy: string; task: string }[]> {
    return (await this.findSome(collection, filter, Infinity, signal, { copy: 1, task: 1 })) as unknown as {
      copy: string;
      task: string;
    }[];
  }

  async count(collection: MetadataCollection, filter: Document, signal: AbortSignal): Promise<number> {
    const reply = await this.#run(
      `count ${collection}`,
      { count: collection, query: filter, ...indexed(filter), readConcern: { level: 'majority' } },
      signal,
    );
    return Number(reply.n);
  }

  /** Renames a collection if it exists. */
  async renameCollection(former: string, name: MetadataCollection, signal: AbortSignal): Promise<void> {
    const [from, to] = [former, name].map((each) => `${metadataDatabase}.${each}`);
    const command = { renameCollection: from, to, writeConcern: { w: 'majority' } };
    const rename = (): Promise<Document> => this.client.command('admin', command, { signal });
    await this.retrying(`rename ${former}`, rename, signal).catch((error: unknown) => {
      if (classify(error) !== 'notFound') throw error;
    });
  }

  /** Updates one document. Returns whether one matched or was upserted. */
  async updateOne(
    collection: MetadataCollection,
    filter: Document,
    update: Document,
    signal: AbortSignal,
    { upsert = false }: { upsert?: boolean } = {},
  ): Promise<boolean> {
    const statement = { q: filter, u: update, upsert, ...indexed(filter) };
    return Number((await this.#write(collection, { update: collection, updates: [statement] }, signal)).n) > 0;
  }

  async updateMany(
    collection: MetadataCollection,
    filter: Document,
    update: Document,
    signal: AbortSignal,
  ): Promise<void> {
    const updates = [{ q: filter, u: update, multi: true, ...indexed(filter) }];
    await this.#write(collection, { update: collection, updates }, signal);
  }

  /** Updates one document and returns the new one; null when none matched. */
  async findAndUpdate(
    collection: MetadataCollection,
    filter: Document,
    update: Document,
    signal: AbortSignal,
    { upsert = false }: { upsert?: boolean } = {},
  ): Promise<Document | null> {
    const command = { findAndModify: collection, query: filter, update, new: true, upsert, ...indexed(filter) };
    const reply = await this.#write(collection, command, signal);
    return (reply.value as Document | null | undefined) ?? null;
  }

  /**
   * Inserts a document unless there is one with its `_id`.
   * @param what it is, for the error
   * @returns the stored one
   */
  async findOrInsert(
    collection: MetadataCollection,
    _id: string,
    document: Document,
    what: string,
    signal: AbortSignal,
  ): Promise<Document> {
    const update = { $setOnInsert: document };
    const stored = await this.findAndUpdate(collection, { _id }, update, signal, { upsert: true });
    if (stored === null) throw new ConvoyError('internalError', `${what} could not be written.`);
    return stored;
  }

  /** Upserts whole documents by `_id`. */
  async upsertMany(collection: MetadataCollection, documents: readonly Document[], signal: AbortSignal): Promise<void> {
    await this.upsertEach(
      collection,
      documents.map((document) => ({ q: { _id: document._id as unknown }, u: document })),
      signal,
    );
  }

  /**
   * Upserts one document per statement, in as many commands as needed.
   * @throws MetadataWriteError with code 11000 when a filter names an `_id` whose document does not match the rest of
   * it
   */
  async upsertEach(
    collection: MetadataCollection,
    statements: readonly { q: Document; u: Document }[],
    signal: AbortSignal,
  ): Promise<void> {
    for (const part of partsWithin(statements, (statement) => BSON.calculateObjectSize(statement), commandBytesMax)) {
      const updates = part.map((statement) => ({ ...statement, upsert: true }));
      await this.#write(collection, { update: collection, updates, ordered: false }, signal);
    }
  }

  async deleteMany(collection: MetadataCollection, filter: Document, signal: AbortSignal): Promise<void> {
    await this.#write(
      collection,
      { delete: collection, deletes: [{ q: filter, limit: 0, ...indexed(filter) }] },
      signal,
    );
  }

  #write(collection: MetadataCollection, command: Document, signal: AbortSignal): Promise<Document> {
    return this.#run(`write ${collection}`, { ...command, writeConcern: { w: 'majority' } }, signal);
  }

  async #run(label: string, command: Document, signal: AbortSignal): Promise<Document> {
    return this.retrying(
      label,
      async () => {
        const reply = await this.client.command(metadataDatabase, command, { signal });
        throwWriteError(reply);
        return reply;
      },
      signal,
    );
  }
}

/** A failed statement or write concern of a metadata write. */
export class MetadataWriteError extends Error {
  override readonly name = 'MetadataWriteError';

  /** Takes the server's code only: its message contains values. */
  constructor(readonly code: number) {
    super(`The destination refused a write of Convoy's state with code ${code}.`);
  }
}

/** @throws MetadataWriteError for the first failed statement, or the write concern: the driver throws for neither */
export function throwWriteError(reply: Document): void {
  const failures = reply.writeErrors as { code: number }[] | undefined;
  const concern = reply.writeConcernError as { code: number } | undefined;
  const failure = failures?.[0] ?? concern;
  if (failure !== undefined) throw new MetadataWriteError(failure.code);
}

interface CursorReply {
  /** Zero or absent when the cursor has no more documents. */
  id?: Long | number;
  firstBatch: Document[];
}

function cursorOf(reply: Document): CursorReply {
  return reply.cursor as CursorReply;
}

/**
 * Runs an upsert whose filter matches the own epoch and earlier ones. The server reports a later owner's document as a
 * duplicate key, and also one that an upsert of the same owner has inserted meanwhile. So the upsert is repeated once:
 * it finds the own document.
 * @throws ConvoyError `staleEpoch` when a later owner's document is in the way
 */
export async function refusingStale(upsert: () => Promise<void>): Promise<void> {
  try {
    await upsert().catch((error: unknown) => {
      if (isDuplicate(error)) return upsert();
      throw error;
    });
  } catch (error) {
    throw isDuplicate(error) ? new ConvoyError('staleEpoch') : error;
  }
}

function isDuplicate(error: unknown): boolean {
  return error instanceof MetadataWriteError && error.code === duplicateKeyCode;
}

/** Which write of an owner a document is from; absent in documents of earlier releases. */
export interface Written {
  epoch: number;
  number: number;
}

/**
 * Orders the writes of one owner: a router may apply a copy of a write late, after later ones. Numbers of former owners
 * do not count.
 */
export class WriteOrder {
  /** @param latest number of the latest write that this owner has made before */
  constructor(
    private readonly epoch: number,
    private latest = 0,
  ) {}

  /** For the next write, stored as `written`. */
  next(): Written {
    this.latest += 1;
    return { epoch: this.epoch, number: this.latest };
  }

  /** The condition that this owner has written nothing later than the latest write so far. */
  upToNow(): Document {
    return { $nor: [{ 'written.epoch': this.epoch, 'written.number': { $gt: this.latest } }] };
  }
}
