import { expect } from 'vitest';
import { type FleetProgress, fleetProgressSchema } from '@convoy/api/contract/fleet-progress';
import { type MigrationState, type Progress, progressInfo } from '@convoy/api/contract/progress';
import { verificationPhases } from '@convoy/api/contract/verification';
import type { InstanceReport } from '@convoy/api/fleet/fleet';
import type { GlobalProgress } from '../../../src/director/aggregate.js';
import type { FleetSnapshot } from '../../../src/director/members.js';

/** One rule of the table in `docs/reference/global-progress.md`, formulated differently than in the code. */
export interface AggregationRule {
  readonly name: string;
  /** Fails when a fleet's progress violates the rule. */
  readonly holds: (fleet: FleetSnapshot, global: GlobalProgress) => void;
  /** The progress as it would be without the rule. */
  readonly without: (fleet: FleetSnapshot, global: GlobalProgress) => GlobalProgress;
}

/**
 * The ids that the migration needs, according to live instances. To the last known reports if none is alive, or if
 * those alive have started and name none.
 */
function expectedIds({ reports }: FleetSnapshot): Set<string> {
  const all = [...reports.values()];
  const living = all.filter(({ fresh }) => fresh);
  const namesNone = living.every(({ report }) => report.expectedIds.length === 0);
  const haveStarted = living.some(({ report }) => report.optionsDigest !== null);
  const heard = living.length === 0 || (namesNone && haveStarted) ? all : living;
  return new Set(heard.flatMap(({ report }) => report.expectedIds));
}

/** The instances that count. */
function counted(fleet: FleetSnapshot): { readonly report: InstanceReport; readonly fresh: boolean }[] {
  const expected = expectedIds(fleet);
  const all = [...fleet.reports.values()];
  const some = all.filter(({ report: { identity }, fresh }) => {
    if (expected.size > 0) return expected.has(identity.id);
    return fresh || (fleet.silent_ms.get(identity.id) ?? Infinity) <= 600_000;
  });
  return some.length > 0 ? some : all;
}

function isComplete(fleet: FleetSnapshot): boolean {
  return [...expectedIds(fleet)].every((id) => fleet.reports.has(id));
}

const progressesOf = (fleet: FleetSnapshot): Progress[] => counted(fleet).map(({ report }) => report.progress);
/** Instance and command pairs that live instances report, without starts that show as taken. */
function awaited(fleet: FleetSnapshot): Set<string> {
  const isLive = (id: string): boolean => fleet.reports.get(id)?.fresh === true;
  const pairs = counted(fleet).flatMap(({ report, fresh }) => (fresh ? (report.progress.waitingFor ?? []) : []));
  const open = pairs.filter(
    ({ instance, command }) =>
      command !== 'start' || !isLive(instance) || fleet.reports.get(instance)?.report.optionsDigest === null,
  );
  return new Set(open.map(({ instance, command }) => `${instance} ${command}`));
}

/** The instances that count for the state: those that have started, or whose start is their operator's. */
function started(fleet: FleetSnapshot): InstanceReport[] {
  const late = awaited(fleet);
  const all = counted(fleet).map(({ report }) => report);
  const some = all.filter(({ identity }) => !late.has(`${identity.id} start`));
  return some.length === 0 || all.every(({ state }) => state === 'IDLE') ? all : some;
}

const statesOf = (fleet: FleetSnapshot): MigrationState[] => started(fleet).map(({ state }) => state);
const leaderOf = (fleet: FleetSnapshot): InstanceReport | undefined =>
  fleet.reports.get(fleet.leader?.id ?? '')?.report;
const known = <Stat>(stats: readonly (Stat | null | undefined)[]): Stat[] =>
  stats.filter((one): one is Stat & NonNullable<unknown> => one != null);
const sum = (stats: readonly number[]): number => stats.reduce((all, one) => all + one, 0);
const sumOrNull = (stats: readonly (number | null)[]): number | null =>
  known(stats).length === 0 ? null : sum(known(stats));

function changed(global: GlobalProgress, progress: Partial<FleetProgress>): GlobalProgress {
  return { ...global, progress: { ...global.progress, ...progress } };
}

/** A rule for a fleet that is not IDLE; in IDLE all values are null. */
function active(name: string, holds: AggregationRule['holds'], without: AggregationRule['without']): AggregationRule {
  const ifActive = (fleet: FleetSnapshot, global: GlobalProgress): void => {
    if (global.progress.state !== 'IDLE') holds(fleet, global);
  };
  return { name, holds: ifActive, without };
}

const rankOf = (state: MigrationState): number =>
  ['INITIALIZING', 'IDLE', 'RUNNING', 'COMMITTING', 'COMMITTED'].indexOf(
    ['PAUSED', 'REVERSING'].includes(state) ? 'RUNNING' : state,
  );

const stateRules: readonly AggregationRule[] = [
  {
    name: 'what the contract’s schema allows',
    holds: (_fleet, { progress }) => expect(fleetProgressSchema.parse(progress)).toEqual(progress),
    without: (_fleet, global) => changed(global, { percent: (global.progress.percent ?? 0) + 101 }),
  },
  {
    name: 'state: PAUSED when all are, else the least advanced',
    holds: (fleet, { progress }) => {
      const states = statesOf(fleet);
      const allPaused = states.every((state) => state === 'PAUSED');
      expect(progress.state === 'PAUSED').toBe(allPaused);
      expect(rankOf(progress.state)).toBe(Math.min(...states.map(rankOf)));
      if (!allPaused) expect([...states, 'RUNNING']).toContain(progress.state);
    },
    without: (fleet, global) => changed(global, { state: statesOf(fleet)[0] ?? 'IDLE' }),
  },
  {
    name: 'IDLE: every field but state and canCommit is null, besides warnings and rows of mixed states',
    holds: (_fleet, { progress }) => {
      if (progress.state !== 'IDLE') return;
      const given = new Set(['state', 'canCommit', 'warnings', 'instances']);
      expect(progress.canCommit).toBe(false);
      expect(Object.entries(progress).filter(([field, value]) => value !== null && !given.has(field))).toEqual([]);
    },
    without: (fleet, global) =>
      changed(global, { totalEventsApplied: sumOrNull(progressesOf(fleet).map((one) => one.totalEventsApplied)) }),
  },
  {
    name: 'an error of any instance is the fleet’s',
    holds: (fleet, { failure }) => {
      const failed = counted(fleet).flatMap(({ report }) => known([report.failure?.error]));
      expect(failure === null).toBe(failed.length === 0);
      if (failure !== null) expect(failed).toContain(failure.error);
    },
    without: (fleet, global) => ({ ...global, failure: leaderOf(fleet)?.failure ?? null }),
  },
  {
    name: 'canCommit: all run, are ready and know it, or accepted the commit, all are alive, none is missing',
    holds: (fleet, { progress }) => {
      const accepts = ({ state, progress: { canCommit } }: InstanceReport): boolean =>
        state === 'COMMITTING' || (state === 'RUNNING' && canCommit);
      const all = counted(fleet).every(({ report, fresh }) => fresh && report.ready.canCommit && accepts(report));
      expect(progress.canCommit).toBe(!['IDLE', 'COMMITTING'].includes(progress.state) && all && isComplete(fleet));
    },
    without: (fleet, global) =>
      changed(global, {
        canCommit: isComplete(fleet) && counted(fleet).every(({ report, fresh }) => fresh && report.ready.canCommit),
      }),
  },
  {
    name: 'commitBlockers: of a migration that can be committed later, empty exactly when it can be now; else null',
    holds: (fleet, { progress: { state, canCommit, commitBlockers } }) => {
      const isKnown = state !== 'INITIALIZING' || expectedIds(fleet).size > 0;
      if (['IDLE', 'COMMITTING', 'COMMITTED'].includes(state) || !isKnown) expect(commitBlockers).toBeNull();
      else expect(commitBlockers?.length === 0).toBe(canCommit);
    },
    without: (fleet, global) => changed(global, { commitBlockers: isComplete(fleet) ? [] : null }),
  },
  active(
    'canWrite: all instances allow writes, none is missing',
    (fleet, { progress }) =>
      expect(progress.canWrite).toBe(isComplete(fleet) && counted(fleet).every(({ report }) => report.ready.canWrite)),
    (fleet, global) => changed(global, { canWrite: counted(fleet).every(({ report }) => report.ready.canWrite) }),
  ),
  active(
    'info: that of the least advanced state, its earliest phase',
    (fleet, { progress }) => {
      const least = started(fleet).filter(({ state }) => rankOf(state) === Math.min(...statesOf(fleet).map(rankOf)));
      const infos = known(least.map(({ progress: { info } }) => info));
      const { paused, ...others } = progressInfo;
      const order: string[] = [
        others.initializing,
        others.reversing,
        others.collectionCopy,
        others.changeEventApplication,
        others.waitingForCommit,
        others.commitCompleted,
        paused,
      ];
      expect(progress.info).toBe(order.find((info) => infos.includes(info)) ?? null);
    },
    (fleet, global) => changed(global, { info: known(progressesOf(fleet).map(({ info }) => info))[0] ?? null }),
  ),
];

const waitingRules: readonly AggregationRule[] = [
  active(
    'waitingFor: what live instances report, each pair once, without starts that show as taken',
    (fleet, { progress }) => {
      const found = (progress.waitingFor ?? []).map(({ instance, command }) => `${instance} ${command}`);
      expect(new Set(found)).toEqual(awaited(fleet));
      expect(found).toHaveLength(awaited(fleet).size);
      const texts = (progress.warnings ?? []).map(({ description }) => description);
      for (const { instance, command, description } of progress.waitingFor ?? [])
        expect(texts).toContain(`WAITING for ${instance} to ${command}: ${description}`);
    },
    (fleet, global) => changed(global, { waitingFor: progressesOf(fleet).flatMap((one) => one.waitingFor ?? []) }),
  ),
];

const statRules: readonly AggregationRule[] = [
  active(
    'estimatedTotalBytes: one global value, the leader’s, never a sum',
    (fleet, { progress }) => {
      const totals = known(progressesOf(fleet).map(({ collectionCopy }) => collectionCopy)).map(
        (copy) => copy.estimatedTotalBytes,
      );
      const leaders = leaderOf(fleet)?.progress.collectionCopy?.estimatedTotalBytes ?? 1;
      const expected = totals.length === 0 ? undefined : leaders === 1 ? Math.max(...totals) : leaders;
      expect(progress.collectionCopy?.estimatedTotalBytes).toBe(expected);
    },
    (fleet, global) => {
      const totals = known(progressesOf(fleet).map(({ collectionCopy }) => collectionCopy)).map(
        (copy) => copy.estimatedTotalBytes,
      );
      return global.progress.collectionCopy === null
        ? global
        : changed(global, { collectionCopy: { ...global.progress.collectionCopy, estimatedTotalBytes: sum(totals) } });
    },
  ),
  active(
    'estimatedCopiedBytes: the sum over all instances, never more than the total',
    (fleet, { progress: { collectionCopy } }) => {
      if (collectionCopy === null) return;
      const copied = sum(
        known(progressesOf(fleet).map((one) => one.collectionCopy)).map((copy) => copy.estimatedCopiedBytes),
      );
      expect(collectionCopy.estimatedCopiedBytes).toBe(Math.min(copied, collectionCopy.estimatedTotalBytes));
    },
    (fleet, global) => {
      const copied = sum(
        known(progressesOf(fleet).map((one) => one.collectionCopy)).map((copy) => copy.estimatedCopiedBytes),
      );
      return global.progress.collectionCopy === null
        ? global
        : changed(global, { collectionCopy: { ...global.progress.collectionCopy, estimatedCopiedBytes: copied } });
    },
  ),
  active(
    'percent: copied by total, times 100',
    (_fleet, { progress: { percent, collectionCopy } }) => {
      if (collectionCopy === null) expect(percent).toBeNull();
      else if (collectionCopy.estimatedTotalBytes === 0) expect(percent).toBe(100);
      else
        expect(percent).toBeCloseTo(
          (100 * collectionCopy.estimatedCopiedBytes) / collectionCopy.estimatedTotalBytes,
          9,
        );
    },
    (_fleet, global) => changed(global, { percent: global.progress.collectionCopy === null ? null : 0 }),
  ),
  active(
    'lagTimeSeconds: the largest, null when PAUSED, 0 when COMMITTED',
    (fleet, { progress }) => {
      const lags = known(progressesOf(fleet).map(({ lagTimeSeconds }) => lagTimeSeconds));
      const largest = lags.length === 0 ? null : Math.max(...lags);
      expect(progress.lagTimeSeconds).toBe(
        { PAUSED: null, COMMITTED: 0 }[progress.state as string] === undefined
          ? largest
          : progress.state === 'COMMITTED'
            ? 0
            : null,
      );
    },
    (fleet, global) =>
      changed(global, {
        lagTimeSeconds: Math.max(0, ...known(progressesOf(fleet).map(({ lagTimeSeconds }) => lagTimeSeconds))),
      }),
  ),
  active(
    'totalEventsApplied: the sum',
    (fleet, { progress }) =>
      expect(progress.totalEventsApplied).toBe(sumOrNull(progressesOf(fleet).map((one) => one.totalEventsApplied))),
    (fleet, global) => changed(global, { totalEventsApplied: leaderOf(fleet)?.progress.totalEventsApplied ?? null }),
  ),
  active(
    'rates: the sum over live instances',
    (fleet, { progress }) => {
      const rates = counted(fleet).flatMap(({ report, fresh }) => (fresh ? [report.rates] : []));
      expect(progress.copyBytesPerSecond).toBe(sum(rates.map((one) => one.copyBytesPerSecond)));
      expect(progress.eventsPerSecond).toBe(sum(rates.map((one) => one.eventsPerSecond)));
    },
    (fleet, global) =>
      changed(global, { eventsPerSecond: sum(counted(fleet).map(({ report }) => report.rates.eventsPerSecond)) }),
  ),
];

type Side = 'source' | 'destination';

const identityRules: readonly AggregationRule[] = [
  active(
    'syncID and coordinatorID: the leader’s, null while none is known',
    (fleet, { progress }) => {
      expect(progress.coordinatorID).toBe(fleet.leader?.syncID ?? null);
      expect(progress.syncID).toBe(progress.coordinatorID);
    },
    (fleet, global) => changed(global, { syncID: counted(fleet)[0]?.report.identity.syncID ?? null }),
  ),
  active(
    'directionMapping: the leader’s, else the first known one',
    (fleet, { progress }) => {
      const candidates = [leaderOf(fleet)?.progress, ...progressesOf(fleet)];
      expect(progress.directionMapping).toEqual(known(candidates.map((one) => one?.directionMapping))[0] ?? null);
    },
    (fleet, global) =>
      changed(global, {
        directionMapping: known(progressesOf(fleet).map((one) => one.directionMapping)).at(-1) ?? null,
      }),
  ),
  ...(['source', 'destination'] as const).map((side: Side) =>
    active(
      `verification.${side}: counts summed, the earliest phase, the largest lag`,
      (fleet, { progress }) => {
        const sides = known(progressesOf(fleet).map(({ verification }) => verification)).map((one) => one[side]);
        if (sides.length === 0) {
          expect(progress.verification).toBeNull();
          return;
        }
        const phases = known(sides.map(({ phase }) => phase));
        const lags = known(sides.map(({ lagTimeSeconds }) => lagTimeSeconds));
        expect(progress.verification?.[side]).toEqual({
          estimatedDocumentCount: sumOrNull(sides.map((one) => one.estimatedDocumentCount)),
          hashedDocumentCount: sumOrNull(sides.map((one) => one.hashedDocumentCount)),
          scannedCollectionCount: sumOrNull(sides.map((one) => one.scannedCollectionCount)),
          totalCollectionCount: sumOrNull(sides.map((one) => one.totalCollectionCount)),
          phase: verificationPhases.find((phase) => phases.includes(phase)) ?? null,
          lagTimeSeconds: lags.length === 0 ? null : Math.max(...lags),
        });
      },
      (fleet, global) =>
        changed(global, {
          verification: known(progressesOf(fleet).map(({ verification }) => verification))[0] ?? null,
        }),
    ),
  ),
  {
    name: 'rows: one for each instance that lives, counts or is asked for, marked when it is silent',
    holds: (fleet, { instances }) => {
      const shown = [...fleet.reports.values()].filter((seen) => seen.fresh || counted(fleet).includes(seen));
      const ids = new Set([...shown.map(({ report }) => report.identity.id), ...expectedIds(fleet)]);
      expect(instances.map(({ id }) => id)).toEqual([...ids].sort());
      for (const row of instances) {
        const seen = fleet.reports.get(row.id);
        expect(row.reachable).toBe(seen?.fresh ?? false);
        expect(row.problems.includes('silent')).toBe(seen?.fresh === false);
        expect(row.problems.includes('missing')).toBe(seen === undefined);
      }
    },
    without: (fleet, global) => ({ ...global, instances: global.instances.filter(({ id }) => fleet.reports.has(id)) }),
  },
  {
    name: 'warnings: mixed states, missing and silent instances are named',
    holds: (fleet, { progress }) => {
      const names = progress.warnings?.map(({ name }) => name) ?? [];
      if (statesOf(fleet).every((state) => state === 'IDLE')) return;
      expect(names.includes('mixedStates')).toBe(new Set(statesOf(fleet)).size > 1);
      expect(names.includes('waitingForInstances')).toBe(!isComplete(fleet) || awaited(fleet).size > 0);
      expect(names.includes('instancesSilent')).toBe(counted(fleet).some(({ fresh }) => !fresh));
    },
    without: (_fleet, global) => changed(global, { warnings: [] }),
  },
];

export const aggregationRules: readonly AggregationRule[] = [
  ...stateRules,
  ...waitingRules,
  ...statRules,
  ...identityRules,
];
