import type { Warning } from '@convoy/api/contract/progress';
import { nameSome } from '../../catalog/name-some.js';
import type { SkippedIndex } from '../../catalog/plan/skipped-index.js';
import type { RetryNotice } from '../../async/retry.js';
import { isReverseRequested } from '../leader/swap-clusters.js';
import type { MigrationView } from '../migration/migration-watch.js';
import type { Runtime } from '../migration/runtime.js';

/**
 * The migration's own warnings, the instances that a step still waits for, and the operations that are being retried.
 * @param isReversing whether this process has taken the command to reverse
 */
export function runWarnings(
  { record, tasks }: MigrationView,
  isReversing: boolean,
  { retries, config }: Runtime,
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
  return [...warnings, ...retryWarnings([...retries.values()], config.retry_minutes)];
}

/** One warning for each failure, with the operations that meet it: without counts, so that it stays the same. */
function retryWarnings(retries: readonly RetryNotice[], limit_minutes: number): Warning[] {
  const failures = new Map<string, string[]>();
  for (const { what, failure } of retries) failures.set(failure, [...(failures.get(failure) ?? []), what]);
  return [...failures].map(([failure, operations]) => ({
    name: 'retrying',
    description:
      `Convoy repeats what fails: ${nameSome(operations.sort())} (${failure}). Check that both clusters answer. ` +
      `The migration fails if this lasts for ${limit_minutes} minutes.`,
  }));
}

/** The warnings about indexes that the destination does not have as the source has them. */
function skippedWarnings(skipped: readonly SkippedIndex[]): Warning[] {
  const absent = skipped.filter(({ outcome }) => outcome === 'absent');
  const plain = skipped.filter(({ outcome }) => outcome === 'notUnique');
  const unique = absent.filter((one) => one.unique);
  return [
    ...(absent.length === 0
      ? []
      : [
          {
            name: 'indexesSkipped',
            description:
              `The destination cannot build these indexes, and does not have them: ${named(absent)}.` +
              (unique.length === 0 ? '' : ` Nothing enforces the uniqueness of ${unique.length} of them.`),
          },
        ]),
    ...(plain.length === 0
      ? []
      : [
          {
            name: 'indexesNotUnique',
            description:
              `Documents violate these unique indexes, which are plain on the destination: ${named(plain)}. ` +
              'Nothing enforces their uniqueness after the commit.',
          },
        ]),
  ];
}

function named(skipped: readonly SkippedIndex[]): string {
  return nameSome(skipped.map(({ namespace, index, failure }) => `${index} of ${namespace} (${failure})`));
}
