import type { MigrationRecord } from '../../store/migration-record.js';
import type { MigrationView } from '../migration/migration-watch.js';

/**
 * The total once nothing more is copied: the sum of all copied bytes, so that a client that adds them up gets exactly
 * 100 %.
 */
export function finalTotal({ tasks }: MigrationView): Pick<MigrationRecord, 'estimatedTotalBytes'> {
  let total = 0;
  for (const { copied } of tasks.values()) total += copied.bytes;
  return { estimatedTotalBytes: Math.max(1, total) };
}
