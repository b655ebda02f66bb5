import type { Clock } from '../../cluster/clock.js';
import { type MigrationWatch, untilOrFor } from '../migration/migration-watch.js';

/**
 * Waits until the next report is due: for a time, but not beyond a change of the permission to write, which users wait
 * for.
 * @param watch of the migration; null while there is none
 */
export async function reportPause(
  watch: Pick<MigrationWatch, 'view' | 'until'> | null,
  runtime: { readonly clock: Pick<Clock, 'sleep'> },
  longest_ms: number,
  signal: AbortSignal,
): Promise<void> {
  if (watch === null) return runtime.clock.sleep(longest_ms, signal);
  const { canWrite } = watch.view.record;
  await untilOrFor({ watch, runtime }, ({ record }) => record.canWrite !== canWrite, longest_ms, signal);
}
