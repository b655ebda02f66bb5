import type { Document } from 'mongodb';
import { portableIndex } from '../index-spec.js';
import { namespaceOf } from '../namespace.js';
import type { IndexBuilding } from './index-building.js';
import type { CollectionPlan } from '../plan/destination-plan.js';
import { indexStatsByShard, listIndexes } from '../read/read-indexes.js';

/** The indexes that the shards of one collection have, in portable form (`portableIndex`). */
export class PresentIndexes {
  /** @param perShard at least one list */
  constructor(private readonly perShard: readonly (readonly Document[])[]) {}

  /** Number of different names. */
  get size(): number {
    return new Set(this.perShard.flat().map(({ name }) => name as string)).size;
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
    ofShards.length > 0 ? ofShards : [(await listIndexes(client, entry.database, entry.name, signal)) ?? []];
  const namespace = namespaceOf(entry);
  return new PresentIndexes(perShard.map((list) => list.map((index) => portableIndex(namespace, index).index)));
}
