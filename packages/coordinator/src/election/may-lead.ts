import type { InstanceReport, SeenReport } from '@convoy/api/fleet/fleet';
import { expectedIdsOf } from '../progress/members.js';

/**
 * Whether an instance may lead its fleet: not one that the migration does not ask for, not one that has failed while
 * others have not, and not one that has not reached its clusters yet while others have. They would hold the lease and
 * lead nothing.
 */
export function mayLead(id: string, reports: ReadonlyMap<string, SeenReport>): boolean {
  const expectedIds = expectedIdsOf(reports);
  if (!isAsked(id, expectedIds)) return false;
  const own = reports.get(id);
  if (own === undefined) return true;
  return [...reports].every(
    ([other, { fresh, report }]) =>
      other === id || !fresh || abilityOf(report) <= abilityOf(own.report) || !isAsked(other, expectedIds),
  );
}

/** Who is not asked for does not lead either. */
function isAsked(id: string, expectedIds: readonly string[]): boolean {
  return expectedIds.length === 0 || expectedIds.includes(id);
}

/** The larger, the more an instance can do as the leader. */
function abilityOf({ failure, state }: InstanceReport): number {
  if (failure !== null) return 0;
  return state === 'INITIALIZING' ? 1 : 2;
}
