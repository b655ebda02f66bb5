import type { MigrationRecord } from '../../store/migration-record.js';
import type { MigrationView } from '../migration/migration-watch.js';

/** The total once nothing more is copied: what was copied in all, so that a client that adds by hand gets exactly 100 %. */
export function finalTotal({ tasks }: MigrationView): Pick<MigrationRecord, 'estimatedTotalBytes'> {
  let total = 0;
  for (const { copied } of tasks.values()) total += copied.bytes;
  return { estimatedTotalBytes: Math.max(1, total) };
}
