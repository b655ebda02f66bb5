import type { Binary, Document } from 'mongodb';
import type { Metadata } from './metadata.js';
import { MetadataWriteError } from './metadata.js';
import type { SavePartitions } from './partition-table.js';
import type { RepairStorage } from './repair-set.js';
import { ConvoyError } from '@convoy/api/errors/convoy-error';

/** Entries of one command: one alone may have nearly 16 MB, a command as a whole 48 MB. */
const entriesBytesMax = 8 * 2 ** 20;
const entriesMax = 1_000;

/** The error of an upsert that a later epoch's document stands in the way of. */
const duplicateKeyCode = 11000;

/**
 * Partitions and doubtful keys of one share in the metadata database. Every document carries the epoch of its owner. A
 * new owner claims them all first, those not yet there included: after that an earlier owner can write none of them,
 * which would otherwise tell a later one of a copy that the checkpoint does not reach back to.
 */
export class ShareStorage implements RepairStorage {
  constructor(
    private readonly metadata: Metadata,
    private readonly shareId: string,
    private readonly epoch: number,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * Claims what former owners have left, and reads it.
   * @param uuids collections of the share
   * @throws ConvoyError `staleEpoch` when a later owner has done so already
   */
  async claim(uuids: readonly string[]): Promise<{ partitions: Map<string, Document[]>; repairs: Document[] }> {
    const set = { share: this.shareId, epoch: this.epoch };
    const claims = uuids.map((uuid) => ({ q: this.#earlier(uuid), u: { $set: { ...set, uuid }, $setOnInsert: { partitions: null } } }));
    await this.#refusingStale(() => this.metadata.upsertEach('partitions', claims, this.signal));
    const former = { share: this.shareId, epoch: { $lte: this.epoch } };
    await this.metadata.updateMany('repairs', former, { $set: { epoch: this.epoch } }, this.signal);
    const stored = await this.metadata.find('partitions', set, this.signal);
    const repairs = await this.metadata.find('repairs', set, this.signal);
    const saved = stored.filter(({ partitions }) => partitions !== null);
    return { partitions: new Map(saved.map((document) => [String(document.uuid), document.partitions as Document[]])), repairs };
  }

  /** Saves all partitions of a claimed collection as one document. */
  readonly savePartitions: SavePartitions = async (collection, partitions) => {
    const filter = { _id: `${this.shareId}/${collection.uuid}`, epoch: this.epoch };
    const written = await this.metadata.updateOne('partitions', filter, { $set: { partitions } }, this.signal);
    if (!written) throw new ConvoyError('staleEpoch');
  };

  async put(documents: Document[]): Promise<void> {
    const statements = documents.map((document) => {
      const q = this.#earlier(String(document._id));
      return { q, u: { ...document, _id: q._id, share: this.shareId, epoch: this.epoch } };
    });
    await this.#refusingStale(() => this.metadata.upsertEach('repairs', statements, this.signal));
  }

  async remove(ids: string[]): Promise<void> {
    const names = ids.map((id) => `${this.shareId}/${id}`);
    await this.metadata.deleteMany('repairs', { _id: { $in: names }, epoch: this.epoch }, this.signal);
  }

  /** A document of the share, unless a later owner has claimed it. */
  #earlier(name: string): { _id: string; epoch: Document } {
    return { _id: `${this.shareId}/${name}`, epoch: { $lte: this.epoch } };
  }

  async #refusingStale(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (error instanceof MetadataWriteError && error.code === duplicateKeyCode) throw new ConvoyError('staleEpoch');
      throw error;
    }
  }
}

/**
 * Collections of the migration in catalog order, as their stored entries.
 * @param leaderEpoch the epoch of the leader whose entries count
 */
export async function readStoredEntries(metadata: Metadata, leaderEpoch: number, signal: AbortSignal): Promise<Binary[]> {
  const stored = await metadata.find('collections', { epoch: leaderEpoch }, signal);
  return stored.sort((a, b) => Number(a.position) - Number(b.position)).map((document) => document.entry as Binary);
}

/**
 * Stores the source's catalog as it was when the migration began. May be repeated: what a former leader writes when it
 * thaws stands beside the entries that count, and is not read.
 */
export async function storeEntries(metadata: Metadata, leaderEpoch: number, entries: readonly Binary[], signal: AbortSignal): Promise<void> {
  await metadata.deleteMany('collections', { epoch: { $lte: leaderEpoch } }, signal);
  let batch: Document[] = [];
  let bytes = 0;
  for (const [position, entry] of entries.entries()) {
    batch.push({ _id: `${leaderEpoch}/${position}`, epoch: leaderEpoch, position, entry });
    bytes += entry.length();
    if (bytes < entriesBytesMax && batch.length < entriesMax && position < entries.length - 1) continue;
    await metadata.putMany('collections', batch, signal);
    batch = [];
    bytes = 0;
  }
}
