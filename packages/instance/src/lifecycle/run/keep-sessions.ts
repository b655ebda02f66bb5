import type { MigrationDependencies } from '../migration/migration-dependencies.js';

/** Servers forget sessions, and with them the fence against former owners, after 30 minutes without use. */
const sessionRefresh_ms = 5 * 60_000;

/**
 * Refreshes the write sessions of all tasks until the migration is committed: a task's own process may have ended, and
 * a former one may only be frozen.
 */
export async function keepSessions(
  { runtime, destination, watch }: MigrationDependencies,
  signal: AbortSignal,
): Promise<void> {
  while (watch.view.record.phase !== 'committed') {
    await runtime.clock.sleep(sessionRefresh_ms, signal);
    const refreshSessions = [...watch.view.tasks.values()].flatMap(({ sessions }) => sessions.map((id) => ({ id })));
    await runtime.retrying(
      'refresh sessions',
      () => destination.router.command('admin', { refreshSessions }, { signal }),
      signal,
    );
  }
}
