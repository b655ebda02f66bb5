import { type MigrationWatch, untilOrFor } from '../migration/migration-watch.js';
import type { Runtime } from '../migration/runtime.js';

/**
 * Waits until the next report is due: for a time, but not beyond a change of the permission to write, which users wait
 * for.
 * @param watch of the migration; null while there is none
 */
export async function reportPause(
  watch: MigrationWatch | null,
  runtime: Runtime,
  longest_ms: number,
  signal: AbortSignal,
): Promise<void> {
  if (watch === null) return runtime.clock.sleep(longest_ms, signal);
  const { canWrite } = watch.view.record;
  await untilOrFor({ watch, runtime }, ({ record }) => record.canWrite !== canWrite, longest_ms, signal);
}
