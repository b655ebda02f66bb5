import { expires } from '../../catalog/expires.js';
import type { Catalog } from '../../catalog/namespace.js';
import type { MigrationView } from '../migration/migration-watch.js';

/** What all tasks report of the source above the commit time: the destination does not have it. */
export interface LateWrites {
  /** Changes of documents and of definitions, without the two below. */
  writes: number;
  /** Creations of collections and indexes and drops: by users, or because a database moves to another shard. */
  createsAndDrops: number;
  /** Collections with deletes. */
  collectionsWithDeletes: number;
}

/**
 * Writes on the source above the commit time that the destination does not have, as all tasks report them. Deletes in a
 * TTL collection do not count: the source's server keeps expiring documents, and the destination expires the same ones.
 * @param catalog the source's at the commit time, with the UUIDs that its collections have got since
 */
export function lateWrites({ tasks }: MigrationView, catalog: Catalog): LateWrites {
  const expiring = new Set(catalog.filter(expires).map(({ uuid }) => uuid));
  const late: LateWrites = { writes: 0, createsAndDrops: 0, collectionsWithDeletes: 0 };
  for (const { drained } of tasks.values()) {
    late.writes += drained?.eventsAbove ?? 0;
    late.createsAndDrops += drained?.createsAndDrops ?? 0;
    late.collectionsWithDeletes += (drained?.deletedIn ?? []).filter((uuid) => !expiring.has(uuid)).length;
  }
  return late;
}

/** All of them together, as a lower bound. */
export function totalOf({ writes, createsAndDrops, collectionsWithDeletes }: LateWrites): number {
  return writes + createsAndDrops + collectionsWithDeletes;
}
