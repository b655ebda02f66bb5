import { expires } from '../../catalog/expires.js';
import type { Catalog } from '../../catalog/namespace.js';
import type { MigrationView } from '../migration/migration-watch.js';

/**
 * What all shares have seen on the source above the commit time that the destination does not have. Deletes in a collection
 * that expires documents do not count: its server goes on with that when all users have stopped writing, and the
 * destination, its attributes restored, expires the same ones.
 * @param catalog the source's at the commit time
 * @returns how many at least: of deletes one for each collection
 */
export function lateWrites({ tasks }: Pick<MigrationView, 'tasks'>, catalog: Catalog): number {
  const expiring = new Set(catalog.filter(expires).map(({ uuid }) => uuid));
  const ofTask = [...tasks.values()].map(
    ({ drained }) =>
      (drained?.eventsAbove ?? 0) + (drained?.deletedIn ?? []).filter((uuid) => !expiring.has(uuid)).length,
  );
  return ofTask.reduce((sum, count) => sum + count, 0);
}
