import type { MigrationRecord } from '../../store/migration-record.js';

/** Name of the warning while the leader cannot bring definitions of the destination into line. */
export const definitionsWarning = 'definitionsDiffer';

/** Whether a migration's record has the warning of a name. */
export function hasWarning({ warnings }: MigrationRecord, name: string): boolean {
  return warnings.some((warning) => warning.name === name);
}
