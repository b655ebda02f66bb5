import { oplogTimeInWords } from '@convoy/api/contract/oplog-time';
import type { InstanceReport } from '@convoy/api/fleet/fleet';

/** The shortest oplog time of the reports, as the contract words it; null when no instance reads oplogs. */
export function shortestOplogTime(reports: readonly InstanceReport[]): string | null {
  const isRead = reports.some(({ oplogRemaining_seconds: seconds }) => seconds !== undefined);
  return isRead ? oplogTimeInWords(oplogRemaining_seconds(reports)) : null;
}

/** The shortest known oplog time of the reports; null while none is known. */
export function oplogRemaining_seconds(reports: readonly InstanceReport[]): number | null {
  const known = reports.flatMap(({ oplogRemaining_seconds: seconds }) => seconds ?? []);
  return known.length === 0 ? null : Math.min(...known);
}
