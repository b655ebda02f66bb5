import type { Document } from 'mongodb';
import { portableIndex } from '../index-spec.js';
import { namespaceOf } from '../namespace.js';
import type { IndexBuilding } from './index-building.js';
import type { CollectionPlan } from '../plan/destination-plan.js';
import { indexStatsByShard, listIndexes, type NodeIndexes } from '../read/read-indexes.js';

/** The finished indexes that the shards of one collection have, in portable form (`portableIndex`). */
export class PresentIndexes {
  /**
   * @param perShard at least one list, of finished indexes
   * @param building those that any shard is still building
   */
  constructor(
    private readonly perShard: readonly (readonly Document[])[],
    readonly building: readonly Document[] = [],
  ) {}

  /** Number of different names. */
  get size(): number {
    return new Set([...this.perShard.flat(), ...this.building].map(({ name }) => name as string)).size;
  }

  /** Whether a shard is still building an index of this name that passes the test. */
  isBuilding(name: string, test: (index: Document) => boolean = () => true): boolean {
    return this.building.some((index) => index.name === name && test(index));
  }

  /** The indexes that every shard has, as the first one has them. */
  get onAllShards(): Document[] {
    return (this.perShard[0] ?? []).filter(({ name }) => this.every(name as string));
  }

  /** Whether any shard has an index of this name that passes the test. */
  some(name: string, test: (index: Document) => boolean = () => true): boolean {
    return this.perShard.some((list) => list.some((index) => index.name === name && test(index)));
  }

  /** Whether every shard has an index of this name that passes the test. */
  every(name: string, test: (index: Document) => boolean = () => true): boolean {
    return this.perShard.every((list) => list.some((index) => index.name === name && test(index)));
  }
}

const none: NodeIndexes = { ready: [], building: [] };

/**
 * The indexes of a collection on each of its shards: a broadcast may have failed on some. A router lists those of one
 * shard alone, which is all if the collection is on one shard. A user without the privilege `indexStats` sees no more.
 */
export async function presentIndexes(
  { client, signal }: IndexBuilding,
  { entry, sharding }: CollectionPlan,
): Promise<PresentIndexes> {
  const ofShards = sharding === null ? [] : [...(await indexStatsByShard(client, entry, signal)).values()];
  const perShard =
    ofShards.length > 0 ? ofShards : [(await listIndexes(client, entry.database, entry.name, signal)) ?? none];
  const namespace = namespaceOf(entry);
  const portable = (index: Document): Document => portableIndex(namespace, index).index;
  return new PresentIndexes(
    perShard.map(({ ready }) => ready.map(portable)),
    perShard.flatMap(({ building }) => building.map(portable)),
  );
}
