import { idleProgress, type MigrationState, type Progress } from '@convoy/api/contract/progress';
import type { InstanceReport, SeenReport } from '@convoy/api/fleet/fleet';
import { idleReport } from '@convoy/api/fleet/idle-report';
import type { FleetSnapshot } from '../../../src/director/members.js';

export const NOW_MS = 1_700_000_000_000;

/** A test's values of one instance; the rest is a running instance's. */
export interface ReportChanges extends Partial<Omit<InstanceReport, 'progress' | 'identity'>> {
  readonly progress?: Partial<Progress>;
  readonly fresh?: boolean;
  readonly silent_ms?: number;
}

export function seenReport(
  id: string,
  { progress, fresh = true, silent_ms: _silent, ...changes }: ReportChanges = {},
): SeenReport {
  const state: MigrationState = changes.state ?? 'RUNNING';
  const identity = { id, syncID: `sync-${id}`, incarnation: `${id}-1`, release: '2.0.0' };
  const report = idleReport(identity, { state, ...changes, progress: { ...idleProgress(), state, ...progress } });
  return { report, reportedAt_ms: NOW_MS, fresh };
}

/** A fleet of the given instances, led by the first. */
export function snapshot(instances: Readonly<Record<string, ReportChanges>>, now_ms = NOW_MS): FleetSnapshot {
  const ids = Object.keys(instances);
  const first = ids[0];
  return {
    reports: new Map(ids.map((id) => [id, seenReport(id, instances[id])])),
    leader: first === undefined ? null : { id: first, syncID: `sync-${first}` },
    silent_ms: new Map(ids.map((id) => [id, instances[id]?.silent_ms ?? 0])),
    now_ms,
    isConnected: true,
  };
}
