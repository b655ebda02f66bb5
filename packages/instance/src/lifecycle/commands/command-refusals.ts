import type { CommandName } from '@convoy/api/contract/commands';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { MigrationRecord } from '../../store/migration-record.js';
import { refuseNewerRelease } from '../migration/release.js';

/**
 * Checks that a start may join the recorded migration.
 * @throws ConvoyError `migrationExists` for one that is over, and the refusal of a newer release's record
 */
export function refuseRecorded(recorded: MigrationRecord, release: string): void {
  refuseNewerRelease(recorded.release, release);
  if (recorded.failure !== null || recorded.phase === 'committed') throw new ConvoyError('migrationExists');
}

/** The refusal of a command whose clusters are unreachable. */
export function unreachable(name: CommandName, cause: unknown): ConvoyError {
  return new ConvoyError(
    'sourceUnavailable',
    `A cluster could not be reached during ${name}; everything done so far is recorded. Send the command again.`,
    { cause },
  );
}
