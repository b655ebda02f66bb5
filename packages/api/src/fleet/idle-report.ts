import { idleProgress } from '../contract/progress.js';
import type { InstanceIdentity, InstanceReport } from './fleet.js';

/** The report of a new instance in IDLE, with the given changes. */
export function idleReport(identity: InstanceIdentity, changes: Partial<InstanceReport> = {}): InstanceReport {
  return {
    identity,
    state: 'IDLE',
    failure: null,
    ready: { canCommit: false, canWrite: false },
    expectedIds: [],
    clusterIds: null,
    optionsDigest: null,
    step: null,
    rates: { copyBytesPerSecond: 0, eventsPerSecond: 0 },
    progress: idleProgress(),
    ...changes,
  };
}
