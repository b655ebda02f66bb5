import type { CommandName } from '@convoy/api/contract/commands';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Failure } from '@convoy/api/fleet/fleet';
import { UnreachableClusterError, unreachable } from '../../cluster/connection-failure.js';
import type { MigrationRecord } from '../../store/migration-record.js';
import { refuseNewerRelease } from '../migration/release.js';

/**
 * Checks that a start may join the recorded migration.
 * @throws ConvoyError `migrationExists` for one that is over, and the refusal of a newer release's record
 */
export function refuseJoin(recorded: MigrationRecord, release: string): void {
  refuseNewerRelease(recorded.release, release);
  if (recorded.failure !== null || recorded.phase === 'committed') throw new ConvoyError('migrationExists');
}

/**
 * Checks that nothing has failed. An instance that could not start names its own reason: no migration has failed.
 * @throws ConvoyError `migrationFailed`, or the failure to start
 */
export function refuseAfterFailure(failure: Failure | null, hasMigration: boolean): void {
  if (failure === null) return;
  if (hasMigration) throw new ConvoyError('migrationFailed');
  throw new ConvoyError(
    failure.error,
    `This instance could not start: ${failure.errorDescription} Then restart the instance.`,
  );
}

/** The refusal of a command during which a cluster was unreachable: `sourceUnavailable` where none is named. */
export function unreachableDuring(name: CommandName, cause: unknown): ConvoyError {
  const [error, which] =
    cause instanceof UnreachableClusterError
      ? [cause.error, unreachable(cause.cluster, cause.failure)]
      : (['sourceUnavailable', `A cluster could not be reached during ${name}.`] as const);
  return new ConvoyError(error, `${which} Everything done so far is recorded. Send ${name} again.`, { cause });
}
