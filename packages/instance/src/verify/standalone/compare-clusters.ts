import { createHash } from 'node:crypto';
import { canonicalJson } from '@convoy/api/contract/canonical-json';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { compileNamespaceFilter } from '../../catalog/namespace-filter.js';
import { compileNamespaceRemap, refuseUnmappable } from '../../catalog/namespace-remap.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { comparePartitions } from './compare-partitions.js';
import { comparesShardKeys } from '../compare/compare-definitions.js';
import { knownTimes } from '../compare/sides.js';
import type { ComparisonDependencies } from './comparison-dependencies.js';
import { planComparison } from './comparison-plan.js';
import type { ComparisonTotals } from './comparison-state.js';
import { type DdlOutcome, finalDefinitions, readReports } from './final-definitions.js';
import { laterGenerations } from './later-generations.js';

export type ComparisonFilter = Pick<StartRequest, 'includeNamespaces' | 'excludeNamespaces' | 'namespaceRemap'>;

/**
 * `equal`: everything was compared and is the same. `different`: at least one difference is proven. `undecided`: some
 * documents changed before each check and were never equal. `incomplete`: something could not be compared.
 */
export type ComparisonVerdict = 'equal' | 'different' | 'undecided' | 'incomplete';

/** The result of a comparison; single mismatches are in its state. */
export interface ComparisonOutcome extends DdlOutcome {
  verdict: ComparisonVerdict;
  totals: ComparisonTotals;
  collections: number;
  /** Checks after the first one. */
  generations: number;
  /** False: one side is a replica set, or the caller allows different shard keys. */
  shardKeysCompared: boolean;
  started_ms: number;
  ended_ms: number;
  /** Processes that have worked on it. */
  runs: number;
}

/** Identifies a comparison: two clusters, a filter and other names. */
export function comparisonIdentity(
  source: ClusterClient,
  destination: ClusterClient,
  filter: ComparisonFilter,
): string {
  const { includeNamespaces, excludeNamespaces, namespaceRemap } = filter;
  const text = canonicalJson({
    source: source.clusterId,
    destination: destination.clusterId,
    includeNamespaces,
    excludeNamespaces,
    ...(namespaceRemap && { namespaceRemap }),
  });
  return createHash('sha256').update(text).digest('hex');
}

/**
 * Compares two clusters that may both be written to. First every document of every included collection, then repeatedly
 * whatever differed until it is equal or proven different, then all definitions. Continues where an earlier process
 * ended.
 * @throws ConvoyError `namespaceRemapInvalid`, `invalidConfiguration` if the state is that of another comparison,
 * `sourceEqualsDestination`; what the clients throw after their retries
 */
export async function compareClusters(
  deps: ComparisonDependencies,
  filter: ComparisonFilter,
): Promise<ComparisonOutcome> {
  const { source, destination, state, options, clock } = deps;
  if (source.clusterId === destination.clusterId) throw new ConvoyError('sourceEqualsDestination');
  const identity = comparisonIdentity(source, destination, filter);
  const names = { filter: compileNamespaceFilter(filter), remap: compileNamespaceRemap(filter.namespaceRemap) };
  if (state.plan === null) {
    deps.entered('planning');
    const reports = await readReports(deps, names);
    refuseUnmappable(names.remap, reports.source.catalog);
    const plan = await planComparison(source, reports, names.remap, options.readers, deps.signal);
    await state.begin(identity, clock.now_ms(), plan);
  } else if (state.identity !== identity) {
    throw new ConvoyError(
      'invalidConfiguration',
      'The state belongs to a comparison of other clusters or with another filter. Choose another folder.',
    );
  }
  deps.entered('comparing');
  await comparePartitions(deps, await knownTimes(deps, deps.signal));
  deps.entered('checking again');
  await laterGenerations(deps);
  deps.entered('comparing definitions');
  const plan = state.plan ?? { collections: [], partitions: [] };
  const definitions = await finalDefinitions(deps, names, plan);
  return {
    ...definitions,
    verdict: verdictOf(state.totals, definitions),
    totals: { ...state.totals },
    collections: plan.collections.length,
    generations: state.generation.number,
    shardKeysCompared: comparesShardKeys({ ...deps, shardKeys: options.shardKeys }),
    started_ms: state.started_ms,
    ended_ms: clock.now_ms(),
    runs: state.runs,
  };
}

function verdictOf(
  { mismatches, suspects }: ComparisonTotals,
  { differences, notCompared }: DdlOutcome,
): ComparisonVerdict {
  if (mismatches > 0 || differences.length > 0) return 'different';
  if (suspects > 0) return 'undecided';
  return notCompared.length > 0 ? 'incomplete' : 'equal';
}
