import { join } from 'node:path';
import { homedir } from 'node:os';
import { systemClock } from '../async/clock.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { asUnavailable, clusterFailures } from '../cluster/connection-failure.js';
import { classify } from '../cluster/failure.js';
import { binaryVersion } from '../cluster/topology.js';
import { type FailureMeaning, retryingFor, type RetryNotice } from '../async/retry.js';
import type { InstanceConfig } from '../config/instance-schema.js';
import { type ClusterName, connectConfigured } from '../lifecycle/migration/clusters.js';
import {
  compareClusters,
  type ComparisonFilter,
  comparisonIdentity,
  type ComparisonOutcome,
  type ComparisonOptions,
  type ComparisonPhase,
} from '../verify/standalone/compare-clusters.js';
import { ComparisonState, type ComparisonTotals } from '../verify/standalone/comparison-state.js';
import type { DescribedMismatch } from '../verify/standalone/described-mismatch.js';

const minute_ms = 60_000;

/** What to compare, and how. */
export interface ComparisonRequest {
  config: InstanceConfig;
  source: ClusterName;
  destination: ClusterName;
  filter: ComparisonFilter;
  options: ComparisonOptions;
  /** Folder of the state; null for a folder of the user's own, named after the clusters and the filter. */
  folder: string | null;
  /** Discard the state of an earlier process. */
  restart: boolean;
}

/** How far a comparison is. */
export interface ComparisonProgress {
  phase: ComparisonPhase;
  totals: ComparisonTotals;
  generation: number;
  collections: number;
  /** Estimates of the larger side of each collection. */
  estimatedDocuments: number;
  estimatedBytes: number;
  folder: string;
  resumed: boolean;
}

/** A cluster, as a report names it. */
export interface DescribedCluster {
  host: string;
  kind: ClusterClient['kind'];
  version: string;
  clusterId: string;
  shards: number;
}

/** A finished comparison. */
export interface EndedComparison extends ComparisonOutcome {
  source: DescribedCluster;
  destination: DescribedCluster;
}

/** Callbacks of a comparison. */
export interface ComparisonObserver {
  /** Called once the state is open; the progress can be read at any time from then on. */
  began(progress: () => ComparisonProgress): void;
  retry(notice: RetryNotice): void;
  /** Called at the end, while the mismatches can still be read; the state is removed afterwards. */
  ended(comparison: EndedComparison, mismatches: () => AsyncIterable<DescribedMismatch>): Promise<void>;
}

/**
 * Compares two clusters without a migration, and writes to neither.
 * @throws ConvoyError `sourceUnavailable`, `destinationUnavailable` and as `compareClusters`; what connecting throws
 */
export async function runComparison(
  request: ComparisonRequest,
  observer: ComparisonObserver,
  signal: AbortSignal,
): Promise<EndedComparison> {
  const { config, filter } = request;
  const source = await connected(config, 'source', request.source, signal);
  try {
    const destination = await connected(config, 'destination', request.destination, signal);
    try {
      const folder = request.folder ?? stateFolder(comparisonIdentity(source, destination, filter));
      const ended = await compareIn(folder, { source, destination }, request, observer, signal);
      await ComparisonState.remove(folder);
      return ended;
    } finally {
      await destination.close();
    }
  } finally {
    await source.close();
  }
}

async function compareIn(
  folder: string,
  clusters: { source: ClusterClient; destination: ClusterClient },
  { config, filter, options, restart }: ComparisonRequest,
  observer: ComparisonObserver,
  signal: AbortSignal,
): Promise<EndedComparison> {
  if (restart) {
    await (await ComparisonState.open(folder))[Symbol.asyncDispose]();
    await ComparisonState.remove(folder);
  }
  await using state = await ComparisonState.open(folder);
  let phase: ComparisonPhase = 'planning';
  const resumed = state.plan !== null;
  observer.began(() => ({
    phase,
    totals: { ...state.totals },
    generation: state.generation.number,
    ...estimatesOf(state),
    folder,
    resumed,
  }));
  const outcome = await compareClusters(
    {
      ...clusters,
      state,
      options,
      clock: systemClock,
      retrying: retryingFor(config.retry_minutes * minute_ms, failures, (notice) => observer.retry(notice)),
      entered: (next) => {
        phase = next;
      },
      signal,
    },
    filter,
  );
  const ended = { ...outcome, source: describe(clusters.source), destination: describe(clusters.destination) };
  await observer.ended(ended, () => mismatchesOf(state, outcome.ended_ms));
  return ended;
}

async function* mismatchesOf(state: ComparisonState, now_ms: number): AsyncGenerator<DescribedMismatch> {
  yield* state.mismatches();
  yield* state.undecided(now_ms);
}

function estimatesOf({
  plan,
}: ComparisonState): Pick<ComparisonProgress, 'collections' | 'estimatedDocuments' | 'estimatedBytes'> {
  const collections = plan?.collections ?? [];
  return {
    collections: collections.length,
    estimatedDocuments: collections.reduce((sum, { documentCount }) => sum + documentCount, 0),
    estimatedBytes: collections.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
  };
}

function describe(cluster: ClusterClient): DescribedCluster {
  const { displayHost, kind, clusterId, shardIds } = cluster;
  return { host: displayHost, kind, version: binaryVersion(cluster).join('.'), clusterId, shards: shardIds.length };
}

/** Characters of a folder's name: enough that no two comparisons of one user collide. */
const nameLength = 24;

/** The user's folder for state that programs keep between runs (XDG Base Directory Specification). */
function stateFolder(identity: string): string {
  const base = process.env['XDG_STATE_HOME'] ?? join(homedir(), '.local', 'state');
  return join(base, 'convoy', `verify-${identity.slice(0, nameLength)}`);
}

/** Cursors that are lost, or whose collection was changed, are opened again. */
const failures: FailureMeaning = {
  ...clusterFailures,
  isRetryable: (error) => ['retryable', 'cursorLost', 'catalogChanged'].includes(classify(error)),
};

async function connected(
  config: InstanceConfig,
  role: 'source' | 'destination',
  name: ClusterName,
  signal: AbortSignal,
): Promise<ClusterClient> {
  try {
    return await connectConfigured(config, name, 'router', signal);
  } catch (error) {
    throw asUnavailable(role, name, error);
  }
}
