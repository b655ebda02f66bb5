import type { Fleet } from '@convoy/api/fleet/fleet';
import type { Clock } from '../async/clock.js';
import type { RecentLogs } from '../logging/recent-logs.js';

/** Interval of checks for new records. */
const publish_ms = 1_000;
/** Published this often even when nothing is new: Redis may have lost it. */
const republish_ms = 30_000;

/** Publishes the last warnings and errors of this process's log until the signal, and a last time then. */
export async function publishLogs(recent: RecentLogs, fleet: Fleet, clock: Clock, signal: AbortSignal): Promise<void> {
  let published = 0;
  let publishedAt_ms = -Infinity;
  for (;;) {
    const isDue = recent.taken > 0 && clock.monotonic_ms() - publishedAt_ms >= republish_ms;
    if (recent.taken > published || isDue) {
      published = recent.taken;
      publishedAt_ms = clock.monotonic_ms();
      fleet.publishDetails('logs', { records: [...recent.records] });
    }
    if (signal.aborted) return;
    await clock.sleep(publish_ms, signal).catch(() => undefined);
  }
}
