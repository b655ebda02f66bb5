import type { InstanceReport, SeenReport } from '@convoy/api/fleet/fleet';
import { expectedIdsOf } from '../progress/members.js';

/**
 * Whether an instance may lead its fleet. Not eligible: an instance that the migration does not need, one that failed
 * while others did not, and one that has not reached its clusters while others have. They would hold the lease without
 * leading.
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

/** An instance that the migration does not need does not lead. */
function isAsked(id: string, expectedIds: readonly string[]): boolean {
  return expectedIds.length === 0 || expectedIds.includes(id);
}

/** Eligibility: the higher, the more an instance can do as leader. */
function abilityOf({ failure, state }: InstanceReport): number {
  if (failure !== null) return 0;
  return state === 'INITIALIZING' ? 1 : 2;
}
