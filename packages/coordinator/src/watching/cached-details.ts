import type { History } from '@convoy/api/contract/history';
import type { PublishedDetails } from '@convoy/api/fleet/published-details';
import type { FleetDirector } from '../director/fleet-director.js';
import { cached } from './cached.js';
import { mergeNamespaces, type MergedNamespaces } from './namespaces.js';

/** The details that instances publish, read at most once for all routes and readers of a moment. */
export interface CachedDetails {
  /** Null until the leader has published it. */
  history(): Promise<History | null>;
  namespaces(): Promise<MergedNamespaces>;
  /** By instance id, of those that have run the checks. */
  preflight(): Promise<Record<string, PublishedDetails['preflight']>>;
}

/** Each read fails with `redisUnavailable` while Redis does. */
export function cachedDetails(director: Pick<FleetDirector, 'details' | 'namespaceDetails'>): CachedDetails {
  return {
    history: cached(async () => [...(await director.details('history')).values()][0] ?? null),
    namespaces: cached(() => mergeNamespaces(director.namespaceDetails())),
    preflight: cached(async () => {
      const reports = [...(await director.details('preflight'))];
      return Object.fromEntries(reports.filter(([, { items }]) => items.length > 0));
    }),
  };
}
