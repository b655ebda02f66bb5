import type { MigrationRecord } from '../../store/migration-record.js';

/** Name of the warning while the leader cannot bring definitions of the destination into line. */
export const definitionsWarning = 'definitionsDiffer';

/** Whether the leader cannot bring definitions of the destination into line. */
export function doDefinitionsDiffer({ warnings }: Pick<MigrationRecord, 'warnings'>): boolean {
  return warnings.some(({ name }) => name === definitionsWarning);
}
