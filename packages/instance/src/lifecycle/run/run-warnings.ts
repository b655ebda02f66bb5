import type { Warning } from '@convoy/api/contract/progress';
import { isReverseRequested } from '../leader/swap-clusters.js';
import { skippedWarnings } from './skipped-warnings.js';
import type { MigrationView } from '../migration/migration-watch.js';
import type { Runtime } from '../migration/runtime.js';

/**
 * The migration's own warnings, the instances that a step still waits for, and the operations that are being retried.
 * @param isReversing whether this process has taken the command to reverse
 */
export function runWarnings(
  { record, tasks }: MigrationView,
  isReversing: boolean,
  retries: Runtime['retries'],
): Warning[] {
  const warnings: Warning[] = [...record.warnings, ...skippedWarnings(record.skippedIndexes ?? [])];
  const unstarted = record.taskIds.filter((id) => tasks.get(id)?.started !== true);
  if (unstarted.length > 0) {
    warnings.push({
      name: 'waitingForInstances',
      description: record.fleetCommands?.last.start
        ? `WAITING for these instances, which take the recorded start once they run: ${unstarted.join(', ')}.`
        : `Waiting for a start of these instances: ${unstarted.join(', ')}.`,
    });
  }
  const unreversed = isReversing ? record.taskIds.filter((id) => !isReverseRequested(record, tasks.get(id))) : [];
  if (unreversed.length > 0) {
    warnings.push({
      name: 'waitingForInstances',
      description: `Waiting for a reverse of these instances: ${unreversed.join(', ')}.`,
    });
  }
  for (const { what, attempt, failure } of retries.values()) {
    warnings.push({
      name: 'retrying',
      description: `${what} has failed ${attempt} times (${failure}) and is retried.`,
    });
  }
  return warnings;
}
