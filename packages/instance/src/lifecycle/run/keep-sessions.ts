import type { ClusterClient } from '../../cluster/node-client.js';
import type { MigrationWatch } from '../migration/migration-watch.js';
import type { Runtime } from '../migration/runtime.js';

/** Servers forget sessions, and with them the fence against former owners, after 30 minutes without use. */
const sessionRefresh_ms = 5 * 60_000;

/** Refreshes the write sessions of tasks, also of paused ones, until the migration is committed. */
export async function keepSessions(
  runtime: Pick<Runtime, 'clock' | 'retrying'>,
  destination: Pick<ClusterClient, 'router'>,
  watch: Pick<MigrationWatch, 'view'>,
  taskIds: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  while (watch.view.record.phase !== 'committed') {
    await runtime.clock.sleep(sessionRefresh_ms, signal);
    const sessions = taskIds.flatMap((id) => watch.view.tasks.get(id)?.sessions ?? []);
    const refreshSessions = sessions.map((id) => ({ id }));
    await runtime.retrying(
      'refresh sessions',
      () => destination.router.command('admin', { refreshSessions }, { signal }),
      signal,
    );
  }
}
