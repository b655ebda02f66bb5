import { createHash } from 'node:crypto';
import { canonicalJson } from '@convoy/api/contract/canonical-json';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Clock } from '../../async/clock.js';
import type { Retrying } from '../../async/retry.js';
import { compileNamespaceFilter } from '../../catalog/namespace-filter.js';
import { compileNamespaceRemap, refuseUnmappable } from '../../catalog/namespace-remap.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import type { ProofRule } from '../compare/check-again.js';
import { knownTimes } from '../compare/sides.js';
import { firstGeneration, laterGenerations } from './generations.js';
import { planComparison } from './comparison-plan.js';
import type { ComparisonState, ComparisonTotals } from './comparison-state.js';
import { comparesShardKeys, type DdlOutcome, finalDefinitions, readReports } from './final-definitions.js';

/** The current phase of a comparison. */
export type ComparisonPhase = 'planning' | 'comparing' | 'checking again' | 'comparing definitions';

/** Options of a comparison. */
export interface ComparisonOptions {
  rule: ProofRule;
  /** Maximum number of later checks; a document that still differs then, and kept changing, stays undecided. */
  generationsMax: number;
  /** Partitions compared at once. */
  readers: number;
  /** Interval at which the progress of a partition is recorded. */
  record_ms: number;
  /** False: the destination intentionally has other shard keys. */
  shardKeys: boolean;
}

/** Dependencies of the parts of a comparison. */
export interface ComparisonDependencies {
  source: ClusterClient;
  destination: ClusterClient;
  state: ComparisonState;
  options: ComparisonOptions;
  clock: Clock;
  retrying: Retrying;
  /** Called when a phase starts. */
  entered: (phase: ComparisonPhase) => void;
  signal: AbortSignal;
}

/** Options of the start request that decide which namespaces are compared, and under which names. */
export type ComparisonFilter = Pick<StartRequest, 'includeNamespaces' | 'excludeNamespaces' | 'namespaceRemap'>;

/**
 * The first that applies. `different`: at least one difference is proven. `undecided`: some documents differed at every
 * check, but changed too often for a proof. `incomplete`: documents of some collections were not compared. `equal`:
 * everything was compared and is the same.
 */
type ComparisonVerdict = 'equal' | 'different' | 'undecided' | 'incomplete';

/** The result of a comparison; the files of its `ComparisonState` have the single mismatches. */
export interface ComparisonOutcome extends DdlOutcome {
  verdict: ComparisonVerdict;
  totals: ComparisonTotals;
  collections: number;
  /** How often documents that differed were checked again, all of them once per generation. */
  generations: number;
  /** Whether shard keys count: both clusters are sharded, and the caller does not allow different ones. */
  shardKeysCompared: boolean;
  started_ms: number;
  ended_ms: number;
  /** Processes that have worked on it, one after the other. */
  runs: number;
}

/** Identifies a comparison by its clusters, filter and remap: a state continues only the one that it belongs to. */
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
 * Compares two clusters while users may write to both. It compares every document of all included collections once.
 * Then it checks those that differed (the suspects) again, `generationsMax` times at most, until they are equal or
 * proven different. Finally it compares all definitions. It continues where an earlier process ended.
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
  // Reads after these times see every write that was acknowledged before now.
  await firstGeneration(deps, await knownTimes(deps, deps.signal));
  deps.entered('checking again');
  await laterGenerations(deps);
  deps.entered('comparing definitions');
  // The state has a plan by now; the type does not know it.
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

/** Suspects that remain after the last generation are undecided. */
function verdictOf(
  { mismatches, suspects }: ComparisonTotals,
  { differences, notCompared }: DdlOutcome,
): ComparisonVerdict {
  if (mismatches > 0 || differences.length > 0) return 'different';
  if (suspects > 0) return 'undecided';
  return notCompared.length > 0 ? 'incomplete' : 'equal';
}
