import type { CommandName } from '@convoy/api/contract/commands';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { MigrationRecord } from '../../store/migration-record.js';
import { refuseNewerRelease } from '../migration/release.js';

/**
 * Whether a start may join the migration that is recorded.
 * @throws ConvoyError `migrationExists` for one that is over, and what a newer release's record is refused with
 */
export function refuseRecorded(recorded: MigrationRecord, release: string): void {
  refuseNewerRelease(recorded.release, release);
  if (recorded.failure !== null || recorded.phase === 'committed') throw new ConvoyError('migrationExists');
}

/** What a command is answered with whose clusters could not be reached. */
export function unreachable(name: CommandName, cause: unknown): ConvoyError {
  return new ConvoyError(
    'sourceUnavailable',
    `A cluster could not be reached while ${name} was carried out; nothing was begun that is not recorded. Try again.`,
    { cause },
  );
}
