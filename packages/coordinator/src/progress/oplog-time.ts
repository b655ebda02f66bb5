import { oplogTimeInWords } from '@convoy/api/contract/oplog-time';
import type { InstanceReport } from '@convoy/api/fleet/fleet';

/** The shortest oplog time of the reports, as the contract words it; null when no instance reads oplogs. */
export function shortestOplogTime(reports: readonly InstanceReport[]): string | null {
  const times = reports.flatMap(({ oplogRemaining_seconds: seconds }) => (seconds === undefined ? [] : [seconds]));
  if (times.length === 0) return null;
  const known = times.filter((seconds) => seconds !== null);
  return oplogTimeInWords(known.length === 0 ? null : Math.min(...known));
}
