import type { Binary, Document } from 'mongodb';
import type { Metadata } from './metadata.js';
import { MetadataWriteError } from './metadata.js';
import type { SavePartitions } from './partition-table.js';
import type { RepairStorage } from './repair-set.js';
import { ConvoyError } from '@convoy/api/errors/convoy-error';

/** The error of an upsert that another epoch's document stands in the way of. */
const duplicateKeyCode = 11000;

/**
 * Partitions and doubtful keys of one share in the metadata database. Every document carries the epoch of its owner;
 * a new owner claims them all first, and after that writes of an earlier one match nothing.
 */
export class ShareStorage implements RepairStorage {
  constructor(
    private readonly metadata: Metadata,
    private readonly shareId: string,
    private readonly epoch: number,
    private readonly signal: AbortSignal,
  ) {}

  /** Claims what former owners have left, and reads it. */
  async claim(): Promise<{ partitions: Map<string, Document[]>; repairs: Document[] }> {
    const mine = { share: this.shareId };
    await this.metadata.updateMany('partitions', mine, { $set: { epoch: this.epoch } }, this.signal);
    await this.metadata.updateMany('repairs', mine, { $set: { epoch: this.epoch } }, this.signal);
    const stored = await this.metadata.find('partitions', mine, this.signal);
    const repairs = await this.metadata.find('repairs', mine, this.signal);
    return { partitions: new Map(stored.map((document) => [String(document.uuid), document.partitions as Document[]])), repairs };
  }

  /** Saves all partitions of a collection as one document. */
  readonly savePartitions: SavePartitions = async (collection, partitions) => {
    const filter = { _id: `${this.shareId}/${collection.uuid}`, epoch: this.epoch };
    const update = { $set: { share: this.shareId, uuid: collection.uuid, partitions } };
    try {
      await this.metadata.updateOne('partitions', filter, update, this.signal, { upsert: true });
    } catch (error) {
      if (error instanceof MetadataWriteError && error.code === duplicateKeyCode) throw new ConvoyError('staleEpoch');
      throw error;
    }
  };

  async put(documents: Document[]): Promise<void> {
    const owned = documents.map((document) => ({
      ...document,
      _id: `${this.shareId}/${String(document._id)}`,
      share: this.shareId,
      epoch: this.epoch,
    }));
    await this.metadata.putMany('repairs', owned, this.signal);
  }

  async remove(ids: string[]): Promise<void> {
    const names = ids.map((id) => `${this.shareId}/${id}`);
    await this.metadata.deleteMany('repairs', { _id: { $in: names }, epoch: this.epoch }, this.signal);
  }
}

/** Collections of the migration in catalog order, as their stored entries. */
export async function readStoredEntries(metadata: Metadata, signal: AbortSignal): Promise<Binary[]> {
  const stored = await metadata.find('collections', {}, signal);
  return stored.map((document) => document.entry as Binary);
}

/** Stores the source's catalog as it was when the migration began. May be repeated. */
export async function storeEntries(metadata: Metadata, entries: readonly Binary[], signal: AbortSignal): Promise<void> {
  for (const [position, entry] of entries.entries()) {
    await metadata.putMany('collections', [{ _id: position, entry }], signal);
  }
}
