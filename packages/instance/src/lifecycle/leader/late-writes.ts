import { expires } from '../../catalog/expires.js';
import type { Catalog } from '../../catalog/namespace.js';
import type { MigrationView } from '../migration/migration-watch.js';

/**
 * Writes on the source above the commit time that the destination does not have, as all tasks report them. Deletes in a
 * TTL collection do not count: the source's server keeps expiring documents, and the destination expires the same ones.
 * @param catalog the source's at the commit time
 * @returns a lower bound: deletes count once per collection
 */
export function lateWrites({ tasks }: Pick<MigrationView, 'tasks'>, catalog: Catalog): number {
  const expiring = new Set(catalog.filter(expires).map(({ uuid }) => uuid));
  const ofTask = [...tasks.values()].map(
    ({ drained }) =>
      (drained?.eventsAbove ?? 0) + (drained?.deletedIn ?? []).filter((uuid) => !expiring.has(uuid)).length,
  );
  return ofTask.reduce((sum, count) => sum + count, 0);
}
