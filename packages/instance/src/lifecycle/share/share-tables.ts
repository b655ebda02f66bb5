import type { NamespacePart } from '@convoy/api/fleet/posts';
import type { Partition, PartitionTable } from '../../store/partition-table.js';
import { renameCollection, type SyncedCollection } from '../../store/synced-collection.js';
import type { DefinitionResult } from './followed-catalog.js';
import type { ShareCollection } from './share-collections.js';
import { copyFigures } from '../figures/share-figures.js';

/** The collections that a share follows just now, with their partitions. */
export class ShareTables {
  readonly collections = new Map<string, SyncedCollection>();
  readonly tables = new Map<string, PartitionTable>();
  readonly #shares = new Map<string, ShareCollection>();
  readonly #known: Set<string>;

  /** @param known UUIDs of all collections that are or were in the catalog */
  constructor(known: ReadonlySet<string>) {
    this.#known = new Set(known);
  }

  get copyDone(): boolean {
    for (const table of this.tables.values()) if (!table.done) return false;
    return true;
  }

  /**
   * Whether all is copied that can be done with what is known up to a time: some collections have got their name, or come
   * to be, later, and of some a reading that is not at one time has ended later.
   */
  copyDoneUpTo(time: bigint): boolean {
    for (const { collection, partitions } of this.tables.values()) {
      if (collection.notBefore <= time && !partitions.every((partition) => partition.state === 'done' || endsAbove(collection, partition, time))) return false;
    }
    return true;
  }

  /** Partitions of which a reading that is not at one time has ended above a time: they are done only after that. */
  readingsAbove(time: bigint): number {
    let readings = 0;
    for (const { collection, partitions } of this.tables.values()) readings += partitions.filter((partition) => endsAbove(collection, partition, time)).length;
    return readings;
  }

  /** Whether events of this UUID need not be told of: the share has no part in it, or it is gone. */
  isKnown(uuid: string): boolean {
    return this.#known.has(uuid);
  }

  know(uuid: string): void {
    this.#known.add(uuid);
  }

  shareOf(uuid: string): ShareCollection | null {
    return this.#shares.get(uuid) ?? null;
  }

  /** The collection whose copy has a name; null where the share has no part in it. */
  collectionOf(copy: string): SyncedCollection | null {
    for (const share of this.#shares.values()) if (share.copy === copy) return share.collection;
    return null;
  }

  add(share: ShareCollection, table: PartitionTable): void {
    const { uuid } = share.collection;
    this.#shares.set(uuid, share);
    this.collections.set(uuid, share.collection);
    this.tables.set(uuid, table);
  }

  /** What is copied of each collection, by its present name. */
  namespaceParts(): NamespacePart[] {
    return [...this.#shares.values()].map(({ collection, sizeBytes }) => namespacePart(collection, sizeBytes, this.tables.get(collection.uuid)?.partitions ?? []));
  }

  rename({ uuid, ...to }: NonNullable<DefinitionResult['renamed']>): void {
    const share = this.#shares.get(uuid);
    if (share === undefined) return;
    renameCollection(share.collection, to);
    share.entry = { ...share.entry, database: to.database, name: to.name };
  }

  remove(uuid: string): void {
    this.#shares.delete(uuid);
    this.collections.delete(uuid);
    this.tables.delete(uuid);
  }
}

function namespacePart({ database, name }: SyncedCollection, sizeBytes: number, partitions: readonly Partition[]): NamespacePart {
  const { copiedBytes, copiedDocuments, partitions: counts } = copyFigures([{ partitions }]);
  return { namespace: `${database}.${name}`, totalBytes: Math.round(sizeBytes), copiedBytes, copiedDocuments, partitions: counts };
}

/** Only capped collections are not read at one time. */
function endsAbove({ capped }: SyncedCollection, { state, readEnd }: Partition, time: bigint): boolean {
  return capped && state !== 'done' && readEnd !== null && readEnd > time;
}
