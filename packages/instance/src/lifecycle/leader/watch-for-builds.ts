import type { NamespaceFilter } from '../../catalog/namespace-filter.js';
import type { Clock } from '../../async/clock.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import type { Retrying } from '../../async/retry.js';
import { runningBuilds } from '../../cluster/current-operations.js';

/** Interval between looks: no commit is to be offered for long while the source builds an index. */
const look_ms = 2_000;

/**
 * Looks whether the source begins to build an index: no event shows it, and the comparison of the catalogs may be far
 * away.
 * @param onBegun called once for each build of a migrated collection
 */
export async function watchForBuilds(
  { runtime, source }: { runtime: { clock: Pick<Clock, 'sleep'>; retrying: Retrying }; source: ClusterClient },
  filter: NamespaceFilter,
  onBegun: () => void,
  signal: AbortSignal,
): Promise<void> {
  let known: ReadonlySet<string> = new Set();
  for (;;) {
    await runtime.clock.sleep(look_ms, signal);
    const found = await runtime.retrying('look for index builds', () => runningBuilds(source, { signal }), signal);
    const own = found.filter(({ database, collection }) => filter.includes(database, collection)).map(({ id }) => id);
    if (own.some((id) => !known.has(id))) onBegun();
    known = new Set(own);
  }
}
