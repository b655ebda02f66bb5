import type { Binary, Document } from 'mongodb';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { commandBytesMax, partsWithin } from '../cluster/driver/write-command.js';
import { type Metadata, refusingStale, WriteOrder } from './metadata.js';
import type { SavePartitions } from './partition-table.js';
import type { RereadStorage } from './reread-set.js';

/** `_id` of the document with a task's partitions of a copy. */
export function partitionsName(taskId: string, copy: string): string {
  return `${taskId}/${copy}`;
}

/**
 * Partitions and documents to re-read of one sync task, in the metadata database. Every document has its owner's epoch.
 * A new owner first claims them all, those not yet stored included. Afterwards an earlier owner can write none of them:
 * its partitions could claim a copy that the checkpoint does not reach back to. A late copy of an own write undoes no
 * later one.
 */
export class TaskStorage implements RereadStorage {
  readonly #order: WriteOrder;

  /** There is one for each epoch. */
  constructor(
    private readonly metadata: Metadata,
    private readonly taskId: string,
    private readonly epoch: number,
    private readonly signal: AbortSignal,
  ) {
    this.#order = new WriteOrder(epoch);
  }

  /**
   * Claims and reads the documents of former owners.
   * @param copies names of the copies of the task's collections
   * @returns stored partitions by name of their copy, and stored documents to re-read
   * @throws ConvoyError `staleEpoch` when a later owner has claimed them
   */
  async claim(copies: readonly string[]): Promise<{ partitions: Map<string, Document[]>; rereads: Document[] }> {
    const set = { task: this.taskId, epoch: this.epoch };
    const former = { task: this.taskId, epoch: { $lte: this.epoch } };
    await Promise.all([
      this.claimCopies(copies),
      this.metadata.updateMany('rereads', former, { $set: { epoch: this.epoch } }, this.signal),
    ]);
    const [stored, rereads] = await Promise.all([
      this.metadata.find('partitions', set, this.signal),
      this.metadata.find('rereads', set, this.signal),
    ]);
    const saved = stored.filter(({ partitions }) => partitions !== null);
    return {
      partitions: new Map(saved.map((document) => [String(document.copy), document.partitions as Document[]])),
      rereads,
    };
  }

  /**
   * Claims copies, those not yet stored included.
   * @throws ConvoyError `staleEpoch` when a later owner has claimed them
   */
  async claimCopies(copies: readonly string[]): Promise<void> {
    const set = { task: this.taskId, epoch: this.epoch };
    const claims = copies.map((copy) => ({
      q: this.#earlier(copy),
      u: { $set: { ...set, copy }, $setOnInsert: { partitions: null } },
    }));
    await refusingStale(() => this.metadata.upsertEach('partitions', claims, this.signal));
  }

  /** Returns the function that saves all partitions of a claimed copy as one document. */
  saverOf(copy: string): SavePartitions {
    return async (_collection, partitions) => {
      const set = { partitions, written: this.#order.next() };
      const filter = { _id: partitionsName(this.taskId, copy), epoch: this.epoch, ...this.#order.upToNow() };
      if (!(await this.metadata.updateOne('partitions', filter, { $set: set }, this.signal)))
        throw new ConvoyError('staleEpoch');
    };
  }

  /** Removes the partitions of a copy that has ended. */
  async forgetCopy(copy: string): Promise<void> {
    await this.metadata.deleteMany(
      'partitions',
      { _id: partitionsName(this.taskId, copy), epoch: this.epoch },
      this.signal,
    );
  }

  async upsert(documents: Document[]): Promise<void> {
    const written = this.#order.next();
    const statements = documents.map((document) => {
      const q = { ...this.#earlier(String(document._id)), ...this.#order.upToNow() };
      return { q, u: { ...document, _id: q._id, task: this.taskId, epoch: this.epoch, written } };
    });
    await refusingStale(() => this.metadata.upsertEach('rereads', statements, this.signal));
  }

  async remove(ids: string[]): Promise<void> {
    const names = ids.map((id) => `${this.taskId}/${id}`);
    const present = { epoch: this.epoch, ...this.#order.upToNow() };
    for (const part of partsWithin(names, (name) => name.length, commandBytesMax)) {
      await this.metadata.deleteMany('rereads', { _id: { $in: part }, ...present }, this.signal);
    }
  }

  /** Matches a document of the task unless a later owner has claimed it. */
  #earlier(name: string): { _id: string; epoch: Document } {
    return { _id: `${this.taskId}/${name}`, epoch: { $lte: this.epoch } };
  }
}

/**
 * `collections`: the source's catalog at the start of the present direction; `committedCollections`: at the commit;
 * `openedCollections`: the destination's catalog when it was opened.
 */
type StoredCatalog = 'collections' | 'committedCollections' | 'openedCollections';

/**
 * Stored entries of the migration's collections, in catalog order.
 * @param leaderEpoch the epoch of the leader whose entries count
 */
export async function readStoredEntries(
  metadata: Metadata,
  leaderEpoch: number,
  signal: AbortSignal,
  collection: StoredCatalog = 'collections',
): Promise<Binary[]> {
  const stored = await metadata.find(collection, { epoch: leaderEpoch }, signal);
  return stored.sort((a, b) => Number(a.position) - Number(b.position)).map((document) => document.entry as Binary);
}

/**
 * Stores a catalog. Repeatable. Late entries of a former leader have its epoch and are never read.
 */
export async function storeEntries(
  metadata: Metadata,
  leaderEpoch: number,
  entries: readonly Binary[],
  signal: AbortSignal,
  collection: StoredCatalog = 'collections',
): Promise<void> {
  await metadata.deleteMany(collection, { epoch: { $lt: leaderEpoch } }, signal);
  const documents = entries.map((entry, position) => ({
    _id: `${leaderEpoch}/${position}`,
    epoch: leaderEpoch,
    position,
    entry,
  }));
  await metadata.upsertMany(collection, documents, signal);
  // Deletes only positions beyond the catalog: a router may repeat a delete after the entries are stored.
  await metadata.deleteMany(collection, { epoch: leaderEpoch, position: { $gte: entries.length } }, signal);
}

/**
 * Removes partitions, documents to re-read and UUID pairs of the direction before a reverse. Later writers have later
 * epochs, so that a late execution does no harm.
 * @param taskEpochs the epoch of each task, by its id
 */
export async function clearDirection(
  metadata: Metadata,
  leaderEpoch: number,
  taskEpochs: ReadonlyMap<string, number>,
  signal: AbortSignal,
): Promise<void> {
  for (const [task, epoch] of taskEpochs) {
    for (const collection of ['partitions', 'rereads'] as const)
      await metadata.deleteMany(collection, { task, epoch: { $lte: epoch } }, signal);
  }
  await metadata.deleteMany('uuids', { epoch: { $lt: leaderEpoch } }, signal);
}

type Owned = Document & { _id: string };

/**
 * The durable state of one task's verifier. All tasks share the plans, which never change. Parts of collections and
 * mismatches belong to the task; late writes of a former owner are refused. A late copy of an own write undoes no
 * progress, and removes no mismatch that was found again.
 */
export class VerificationStorage {
  readonly #order: WriteOrder;

  /** There is one for each epoch. */
  constructor(
    private readonly metadata: Metadata,
    private readonly taskId: string,
    private readonly epoch: number,
    private readonly signal: AbortSignal,
  ) {
    this.#order = new WriteOrder(epoch);
  }

  /**
   * Claims the documents of earlier owners of the task.
   * @returns the task's parts of all collections
   */
  async claim(): Promise<Document[]> {
    const former = { task: this.taskId, epoch: { $lt: this.epoch } };
    const claimed = { $set: { epoch: this.epoch } };
    await this.metadata.updateMany('verificationParts', former, claimed, this.signal);
    await this.metadata.updateMany('mismatches', former, claimed, this.signal);
    return this.metadata.find('verificationParts', { task: this.taskId, epoch: this.epoch }, this.signal);
  }

  /** The stored plans of some collections. */
  plansOf(keys: readonly string[]): Promise<Document[]> {
    return this.metadata.find('verificationPlans', { _id: { $in: [...keys] } }, this.signal);
  }

  /** Stores a plan unless there is one. @returns the stored one */
  plan(key: string, plan: Document): Promise<Document> {
    return this.metadata.findOrInsert('verificationPlans', key, plan, 'The plan of a comparison', this.signal);
  }

  /** Stores the progress of the task's parts of a collection. */
  async saveParts(key: string, parts: readonly Document[]): Promise<void> {
    const _id = this.#nameOf(key);
    const written = this.#order.next();
    const statement = {
      q: { _id, epoch: { $lte: this.epoch }, ...this.#order.upToNow() },
      u: { _id, key, task: this.taskId, epoch: this.epoch, written, parts },
    };
    await refusingStale(() => this.metadata.upsertEach('verificationParts', [statement], this.signal));
  }

  /** Several comparers may save the same one at once, in any order. */
  async saveMismatches(mismatches: readonly Owned[]): Promise<void> {
    const owned = { task: this.taskId, epoch: this.epoch, written: this.#order.next() };
    const statements = mismatches.map((mismatch) => {
      const _id = this.#nameOf(mismatch._id);
      return { q: { _id, epoch: { $lte: this.epoch } }, u: { ...mismatch, _id, ...owned } };
    });
    await refusingStale(() => this.metadata.upsertEach('mismatches', statements, this.signal));
  }

  async removeMismatches(names: readonly string[]): Promise<void> {
    const ids = names.map((name) => this.#nameOf(name));
    const present = { epoch: this.epoch, ...this.#order.upToNow() };
    for (const part of partsWithin(ids, (id) => id.length, commandBytesMax)) {
      await this.metadata.deleteMany('mismatches', { _id: { $in: part }, ...present }, this.signal);
    }
  }

  /** A page of the task's mismatches after `name`, in order; '' for the first page. */
  async mismatchesAfter(name: string, limit: number): Promise<Document[]> {
    const filter = { task: this.taskId, _id: { $gt: name === '' ? '' : this.#nameOf(name) } };
    const found = await this.metadata.findSome('mismatches', filter, limit, this.signal);
    return found.map((document) => ({ ...document, _id: String(document._id).slice(0, -this.taskId.length - 1) }));
  }

  /** Some mismatches, found by any task, that this task has to re-read. */
  givenToReread(limit: number): Promise<Document[]> {
    return this.metadata.findSome('mismatches', { 'standing.waiting': this.taskId }, limit, this.signal);
  }

  /** Records that this task re-reads such mismatches. @param ids as stored */
  async taken(ids: readonly string[]): Promise<void> {
    for (const part of partsWithin(ids, (id) => id.length, commandBytesMax)) {
      await this.metadata.updateMany(
        'mismatches',
        { _id: { $in: part } },
        { $pull: { 'standing.waiting': this.taskId } },
        this.signal,
      );
    }
  }

  countMismatches(): Promise<number> {
    return this.metadata.count('mismatches', { task: this.taskId }, this.signal);
  }

  /** Removes the state of a collection that is no longer followed. */
  async forget(key: string): Promise<void> {
    await this.metadata.deleteMany('verificationParts', { _id: this.#nameOf(key), epoch: this.epoch }, this.signal);
    await this.metadata.deleteMany('mismatches', { key, task: this.taskId, epoch: this.epoch }, this.signal);
  }

  #nameOf(name: string): string {
    return `${name}/${this.taskId}`;
  }
}
