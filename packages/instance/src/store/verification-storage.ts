import type { Document } from 'mongodb';
import { commandBytesMax, partsWithin } from '../cluster/driver/write-command.js';
import { type Metadata, refusingStale, WriteOrder } from './metadata.js';

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
