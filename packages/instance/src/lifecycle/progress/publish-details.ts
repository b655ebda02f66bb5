import type { Fleet } from '@convoy/api/fleet/fleet';
import {
  NAMESPACES_PUBLISHED_MAX,
  type NamespacePart,
  type PublishedDetails,
} from '@convoy/api/fleet/published-details';
import { noFindings } from '../../preflight/report.js';
import { emptyHistory } from '../../history/history-points.js';
import { HistoryKeeper } from './history-keeper.js';
import type { MigrationRun } from '../run/migration-run.js';

/** Interval of publishing the copy progress of each collection. */
const namespaces_ms = 2_000;
/** Published this often even when nothing is new: Redis may have lost it. */
const republish_ms = 30_000;

/** Publishes, for watchers, the details that are too large for reports. */
export class DetailsPublisher {
  #end = new AbortController();
  /** Settles when nothing is published any more. */
  ended: Promise<unknown> = Promise.resolve();

  /** @param expectedIds ids of the instances that make up the fleet */
  constructor(private readonly expectedIds: () => readonly string[]) {}

  /**
   * Publishes for a run, in the place of the one before, until the signal; also after a failure, which the time line
   * shows.
   */
  follow(run: MigrationRun, signal: AbortSignal): void {
    this.#end.abort();
    this.#end = new AbortController();
    const until = AbortSignal.any([signal, this.#end.signal]);
    const keeper = new HistoryKeeper(run, this.expectedIds);
    this.ended = Promise.allSettled([keeper.run(until), publishNamespaces(run, until)]);
  }
}

/** Publishes that there is nothing to show: Redis may still have the details of a migration that was cleaned up. */
export function publishNoDetails(fleet: Fleet): void {
  fleet.publishDetails('namespaces', namespacesDetails([]));
  fleet.publishDetails('history', emptyHistory());
  fleet.publishDetails('preflight', noFindings);
}

async function publishNamespaces(run: MigrationRun, signal: AbortSignal): Promise<void> {
  const { runtime, fleet } = run.deps;
  let published = '';
  let publishedAt_ms = -Infinity;
  while (!signal.aborted) {
    const parts = run.namespaceParts();
    const now_ms = runtime.clock.monotonic_ms();
    if (parts.length > 0) {
      const details = namespacesDetails(parts);
      const text = JSON.stringify(details);
      if (text !== published || now_ms - publishedAt_ms >= republish_ms) {
        fleet.publishDetails('namespaces', details);
        published = text;
        publishedAt_ms = now_ms;
      }
    }
    await runtime.clock.sleep(namespaces_ms, signal);
  }
}

/** The collections that are being copied first, then the largest; those beyond the bound are added up. */
function namespacesDetails(parts: readonly NamespacePart[]): PublishedDetails['namespaces'] {
  const sorted = [...parts].sort((a, b) => activity(b) - activity(a) || b.totalBytes - a.totalBytes);
  const rest = sorted.slice(NAMESPACES_PUBLISHED_MAX);
  const sum = (stat: (part: NamespacePart) => number) => rest.reduce((total, part) => total + stat(part), 0);
  return {
    rows: sorted.slice(0, NAMESPACES_PUBLISHED_MAX),
    others: {
      collections: rest.length,
      totalBytes: sum(({ totalBytes }) => totalBytes),
      copiedBytes: sum(({ copiedBytes }) => copiedBytes),
      copiedDocuments: sum(({ copiedDocuments }) => copiedDocuments),
    },
  };
}

function activity({ partitions }: NamespacePart): number {
  return partitions.copying + partitions.starting;
}
