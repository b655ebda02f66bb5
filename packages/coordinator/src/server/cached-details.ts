import type { History } from '@convoy/api/contract/history';
import type { PublishedDetails } from '@convoy/api/fleet/published-details';
import type { FleetConsole } from '../director/fleet-console.js';
import { type MergedNamespaces, mergeNamespaces } from './namespaces.js';

/** The details that instances publish, read at most once for all routes and readers of a moment. */
export interface CachedDetails {
  /** Null until the leader has published it. */
  history(): Promise<History | null>;
  namespaces(): Promise<MergedNamespaces>;
  /** By instance id, of those that have run the checks. */
  preflight(): Promise<Record<string, PublishedDetails['preflight']>>;
}

/** Each read fails with `redisUnavailable` while Redis does. */
export function cachedDetails(fleet: Pick<FleetConsole, 'details'>): CachedDetails {
  return {
    history: cached(async () => {
      for await (const [, history] of fleet.details('history')) return history;
      return null;
    }),
    namespaces: cached(() => mergeNamespaces(fleet.details('namespaces'))),
    preflight: cached(async () => {
      const reports: Record<string, PublishedDetails['preflight']> = {};
      for await (const [id, report] of fleet.details('preflight')) if (report.items.length > 0) reports[id] = report;
      return reports;
    }),
  };
}

/** How long a read value serves all readers. */
const CACHED_MS = 1_500;
/**
 * A slow read is cached for this multiple of its duration: a large fleet's details cost at most a tenth of the
 * process's time.
 */
const CACHED_PER_READING = 10;

/**
 * Reads a value again only when the last one is old. Callers during a read wait for the same read.
 * @param read its failures are passed on and cached like values
 */
export function cached<Value>(
  read: () => Promise<Value>,
  now_ms: () => number = () => performance.now(),
): () => Promise<Value> {
  let last: Promise<Value> | null = null;
  let until_ms = Infinity;
  return () => {
    const started_ms = now_ms();
    if (last !== null && started_ms <= until_ms) return last;
    until_ms = Infinity;
    const done = (): void => {
      until_ms = started_ms + Math.max(CACHED_MS, (now_ms() - started_ms) * CACHED_PER_READING);
    };
    last = read();
    last.then(done, done);
    return last;
  };
}
