import type { StartRequestBody } from '@convoy/api/contract/start-request';
import fc from 'fast-check';
import type { ReleaseSeries } from '@convoy/simulator';
import { type Action, sessionsMax, type TransactionAction, type WriteAction } from './actions.js';
import type { Weather } from './adversary.js';
import { type DdlAction, ddlKinds, passingCollections } from './ddl-actions.js';
import type { Move } from './moves.js';
import { bucketsOf, historySeries } from './series.js';
import { seriesActions } from './series-actions.js';
import { sourceCollections } from './source-collections.js';
import { plainIdsFrom } from './values.js';

/** The target of a history. */
export interface Stage {
  readonly sourceShards: number;
  /** None: the destination is a replica set. */
  readonly destinationShards: number;
  readonly sourceRelease: ReleaseSeries;
  readonly destinationRelease: ReleaseSeries;
  readonly access: 'direct' | 'router';
  /** Whether shards that are read directly are copied in the order of their records. */
  readonly naturalOrder: boolean;
  /** One instance for all shards, instead of one for each. */
  readonly lone: boolean;
  readonly collections: readonly string[];
  /** Time series; none on releases before 6.0. */
  readonly series: readonly string[];
  /** Whether definitions change while the migration runs. */
  readonly ddlChanges: boolean;
  /** Whether chunks and databases move between the source's shards, which are then read through the routers. */
  readonly moves: boolean;
  /** Documents of each collection before the migration begins. */
  readonly loaded: number;
  readonly readers: number;
  readonly writers: number;
  readonly applyWorkers: number;
  readonly partition_seconds: number;
  /** Bytes per second that an instance reads from the source at most; it makes a copy last. */
  readonly loadRate: number;
  readonly noop_ms: number;
  /** How long users write, in virtual milliseconds. */
  readonly writing_ms: number;
  readonly weather: Weather;
  /** Chance that a message between instances is lost. */
  readonly messagesLost: number;
  /** Where the randomness of calls and delays begins. */
  readonly seed: number;
}

/** The body of the start of a history's migration. */
export function startBodyOf({ moves, access, naturalOrder }: Stage): StartRequestBody {
  return {
    source: 'cluster0',
    destination: 'cluster1',
    keepBalancer: moves,
    copyInNaturalOrder: access === 'direct' && naturalOrder ? [{ databaseRegex: { pattern: '.' } }] : [],
  };
}

/** Something that happens to the processes, at a time after the start of the migration. */
export interface Incident {
  readonly kind: 'kill' | 'freeze' | 'elect' | 'pause' | 'stepDownSource' | 'stepDownDestination' | 'cut';
  readonly at_ms: number;
  readonly who: number;
  readonly lasts_ms: number;
}

/** Everything that makes a run: the same history runs the same way. */
export interface History {
  readonly stage: Stage;
  readonly actions: readonly Action[];
  readonly moves: readonly Move[];
  readonly incidents: readonly Incident[];
  /** Incidents after the commit was requested. */
  readonly incidentsAtCommit: readonly Incident[];
}

/** How long users write before the commit, in virtual milliseconds. */
const durations_ms = [15_000, 15_000, 30_000, 180_000] as const;
const commit_ms = 8_000;

/** Earlier ones cannot be read at one time, and are refused as sources. */
const releases: readonly ReleaseSeries[] = ['5.0', '6.0', '7.0', '8.0'];
/** As sources: earlier ones do not show changes of buckets. */
const releasesWithSeries: readonly ReleaseSeries[] = ['6.0', '7.0', '8.0'];

const chance = (max: number): fc.Arbitrary<number> =>
  fc.integer({ min: 0, max: 100 }).map((percent) => (percent / 100) * max);

const weather: fc.Arbitrary<Weather> = fc.oneof(
  fc.constant({ late: 0, lateMax_ms: 0, lostRequest: 0, lostAnswer: 0, lateRequest: 0, refused: 0 }),
  fc.record({
    late: chance(0.2),
    lateMax_ms: fc.constantFrom(10, 200, 3_000),
    lostRequest: chance(0.03),
    lostAnswer: chance(0.03),
    lateRequest: chance(0.03),
    refused: chance(0.03),
  }),
);

const names = sourceCollections.map(({ name }) => name);

const someSeries = fc.subarray(
  historySeries.map(({ name }) => name),
  { minLength: 1, maxLength: 3 },
);

/** What happens in histories. Another choice makes other histories of the same seed. */
export interface HistoryKind {
  /** Whether definitions change; null: in some. */
  readonly ddlChanges: boolean | null;
  /** Whether chunks and databases of the source move. */
  readonly moves: boolean;
  /** Whether every destination is a replica set, instead of some. */
  readonly toReplicaSet: boolean;
  /** Whether every history has time series, instead of some. */
  readonly timeSeries: boolean;
}

const stage = ({ ddlChanges, moves, toReplicaSet, timeSeries }: HistoryKind): fc.Arbitrary<Stage> =>
  fc
    .record({
      sourceShards: fc.integer({ min: 1, max: 4 }),
      destinationShards: fc.integer({ min: 0, max: 3 }),
      equal: fc.boolean(),
      sourceRelease: fc.constantFrom(...(timeSeries ? releasesWithSeries : releases)),
      newer: fc.integer({ min: 0, max: 3 }),
      access: fc.constantFrom('direct' as const, 'router' as const),
      naturalOrder: fc.boolean(),
      lone: fc.boolean(),
      collections: fc.subarray(names, { minLength: 1, maxLength: 5 }),
      ddlChanges: ddlChanges === null ? fc.boolean() : fc.constant(ddlChanges),
      loaded: fc.constantFrom(0, 20, 60, 200),
      readers: fc.integer({ min: 1, max: 4 }),
      writers: fc.integer({ min: 1, max: 4 }),
      applyWorkers: fc.integer({ min: 1, max: 4 }),
      partition_seconds: fc.constantFrom(1, 1, 20),
      loadRate: fc.constantFrom(65_536, 65_536, 1_048_576),
      noop_ms: fc.constantFrom(1_000, 10_000),
      writing_ms: fc.constantFrom(...durations_ms),
      weather,
      messagesLost: chance(0.5),
      seed: fc.nat(),
      series: timeSeries ? someSeries : fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, someSeries),
    })
    .map(({ equal, newer, ...drawn }) => ({
      ...drawn,
      series: releasesWithSeries.includes(drawn.sourceRelease) ? drawn.series : [],
      ...(moves ? { sourceShards: Math.max(2, drawn.sourceShards), access: 'router' as const } : {}),
      moves,
      equal,
      newer,
    }))
    .map(({ equal, newer, ...rest }) => ({
      ...rest,
      destinationShards: toReplicaSet ? 0 : equal ? rest.sourceShards : rest.destinationShards,
      destinationRelease:
        releases[Math.min(releases.length - 1, releases.indexOf(rest.sourceRelease) + newer)] ?? rest.sourceRelease,
    }));

const idNumber = fc.oneof(
  { weight: 2, arbitrary: fc.integer({ min: 0, max: plainIdsFrom - 1 }) },
  { weight: 3, arbitrary: fc.integer({ min: plainIdsFrom, max: plainIdsFrom + 12 }) },
  { weight: 3, arbitrary: fc.integer({ min: plainIdsFrom, max: plainIdsFrom + 200 }) },
);

const kinds: fc.Arbitrary<WriteAction['kind']> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('insert' as const, 'update' as const) },
  { weight: 3, arbitrary: fc.constantFrom('move' as const, 'delete' as const, 'replace' as const) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('updateMany' as const, 'deleteMany' as const, 'findAndModify' as const, 'bulk' as const),
  },
);

function write(collections: readonly string[]): fc.Arbitrary<WriteAction> {
  return fc.record({
    kind: kinds,
    collection: fc.constantFrom(...collections),
    id: idNumber,
    k: fc.nat(9),
    n: fc.nat(5_000),
  });
}

function ddlChange(collections: readonly string[]): fc.Arbitrary<DdlAction> {
  return fc.record({
    kind: fc.constantFrom(...ddlKinds),
    collection: fc.constantFrom(...collections),
    other: fc.constantFrom(...collections),
    n: fc.nat(1_000),
  });
}

function action(chosen: Stage): fc.Arbitrary<Action> {
  const { writing_ms, ddlChanges } = chosen;
  const collections = ddlChanges ? [...chosen.collections, ...passingCollections] : chosen.collections;
  const transaction: fc.Arbitrary<TransactionAction> = fc.record({
    kind: fc.constant('transaction' as const),
    writes: fc.array(write(collections), { minLength: 1, maxLength: 5 }),
    pause_ms: fc.constantFrom(0, 50, 2_000, 20_000),
    commits: fc.boolean(),
  });
  const place = { at_ms: fc.integer({ min: -2_000, max: writing_ms }), session: fc.nat(sessionsMax - 1) };
  const { series } = chosen;
  const what = fc.oneof(
    { weight: 9, arbitrary: write(collections) },
    { weight: 1, arbitrary: transaction },
    { weight: ddlChanges ? 1 : 0, arbitrary: ddlChange(collections) },
    ...(series.length === 0 ? [] : [{ weight: 8, arbitrary: seriesActions(series, ddlChanges) }]),
  );
  return fc.tuple(fc.record(place), what).map(([when, one]) => ({ ...when, ...one }));
}

function incidents(within_ms: number, lasts_ms: number, countMax: number): fc.Arbitrary<Incident[]> {
  return fc.array(
    fc.record({
      kind: fc.constantFrom<Incident['kind']>(
        'kill',
        'kill',
        'freeze',
        'elect',
        'elect',
        'pause',
        'stepDownSource',
        'stepDownDestination',
        'cut',
      ),
      at_ms: fc.integer({ min: 0, max: within_ms }),
      who: fc.nat(3),
      lasts_ms: fc.integer({ min: 100, max: lasts_ms }),
    }),
    { maxLength: countMax },
  );
}

function moving({ writing_ms, collections, series }: Stage): fc.Arbitrary<Move[]> {
  return fc.array(
    fc.record({
      kind: fc.constantFrom<Move['kind']>('moveChunk', 'moveChunk', 'moveChunk', 'split', 'movePrimary'),
      at_ms: fc.integer({ min: -2_000, max: writing_ms + commit_ms }),
      collection: fc.constantFrom(...collections, ...series.map(bucketsOf)),
      n: fc.nat(1_000),
    }),
    { minLength: 0, maxLength: 40, size: 'max' },
  );
}

/** Random histories; small values come first when one is shrunk. */
export function histories(kind: HistoryKind): fc.Arbitrary<History> {
  return stage(kind).chain((chosen) =>
    fc.record({
      stage: fc.constant(chosen),
      actions: fc.array(action(chosen), { minLength: 0, maxLength: 300, size: 'max' }),
      incidents: incidents(chosen.writing_ms, 15_000, 8),
      incidentsAtCommit: incidents(commit_ms, 5_000, 3),
      moves: chosen.moves ? moving(chosen) : fc.constant([]),
    }),
  );
}

/** Names one history. */
export interface HistoryChoice extends HistoryKind {
  readonly seed: number;
  /** Where in the tree of smaller histories of the seed it is, as shrinking prints it; null: the seed's own history. */
  readonly path: string | null;
}

/** The part of fast-check's parameters that leads to a history. */
export function parametersOf({ seed, path }: Pick<HistoryChoice, 'seed' | 'path'>): { seed: number; path?: string } {
  return path === null ? { seed } : { seed, path };
}

/** The history that is meant. */
export function historyOf(choice: HistoryChoice): History {
  // A property takes its values as a tuple: only so its paths lead to the same ones.
  const [sample] = fc.sample(fc.tuple(histories(choice)), { ...parametersOf(choice), numRuns: 1 });
  if (sample === undefined)
    throw new RangeError(`There is no history at the path ${choice.path ?? ''} of the seed ${choice.seed}.`);
  return sample[0];
}
