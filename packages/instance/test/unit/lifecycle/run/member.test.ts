import { Timestamp } from 'mongodb';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { beforeEach, describe, expect, it } from 'vitest';
import { timeOf } from '../../../../src/cluster/cluster-time.js';
import { followCommit, isOfNoMatter } from '../../../../src/lifecycle/run/member.js';
import type { MigrationDependencies } from '../../../../src/lifecycle/migration/migration-dependencies.js';
import type { SyncPipeline } from '../../../../src/lifecycle/task/sync-pipeline.js';
import type { TaskRecord } from '../../../../src/store/task-record.js';
import { Condition } from '../../../../src/store/condition.js';
import { never, settled } from '../../model/parts.js';

/**
 * A task whose process restarts in round 2, before another round.
 * @returns what it reports of each
 */
async function reported(
  before: TaskRecord['drained'],
  writes: number,
  deletedIn: string[] = [],
  createsAndDrops = 0,
): Promise<TaskRecord['drained'][]> {
  const drained: TaskRecord['drained'][] = [];
  const record = { phase: 'committing', commit: { round: 2, time: new Timestamp({ t: 1, i: 1 }) } };
  const sleep = () => {
    if (record.commit.round === 3) record.phase = 'committed';
    record.commit.round = 3;
    return Promise.resolve();
  };
  const deps = {
    watch: { until: () => Promise.resolve({ record }) },
    fleet: { wake: () => undefined },
    runtime: { clock: { sleep } },
    taskRecords: {
      update: (_id: string, _epoch: number, set: Partial<TaskRecord>) =>
        Promise.resolve(void drained.push(set.drained ?? null)),
    },
  };
  const sync = {
    taskId: 'a',
    epoch: 2,
    drain: () => Promise.resolve(true),
    stats: () => ({ writesAbove: { writes, createsAndDrops, deletedIn: new Set(deletedIn) } }),
  };
  await followCommit(deps as unknown as MigrationDependencies, sync as unknown as SyncPipeline, before, never, never);
  return drained;
}

it('a restarted task keeps reporting the late writes of its round, and starts the next without them', async () => {
  expect(await reported({ round: 2, eventsAbove: 3 }, 0)).toEqual([
    { round: 2, eventsAbove: 3, deletedIn: [] },
    { round: 3, eventsAbove: 0, deletedIn: [] },
  ]);
  expect(await reported({ round: 1, eventsAbove: 3 }, 4)).toEqual([
    { round: 2, eventsAbove: 4, deletedIn: [] },
    { round: 3, eventsAbove: 4, deletedIn: [] },
  ]);
  expect(await reported({ round: 2, eventsAbove: 0, deletedIn: ['a'] }, 0, ['b'])).toEqual([
    { round: 2, eventsAbove: 0, deletedIn: ['a', 'b'] },
    { round: 3, eventsAbove: 0, deletedIn: ['b'] },
  ]);
  expect(await reported({ round: 2, eventsAbove: 0, createsAndDrops: 1 }, 0, [], 2)).toEqual([
    { round: 2, eventsAbove: 0, createsAndDrops: 2, deletedIn: [] },
    { round: 3, eventsAbove: 0, createsAndDrops: 2, deletedIn: [] },
  ]);
  expect(await reported(null, 0)).toEqual([
    { round: 2, eventsAbove: 0, deletedIn: [] },
    { round: 3, eventsAbove: 0, deletedIn: [] },
  ]);
});

it('a task reports that its stream has passed the last look, with the late writes up to there', async () => {
  const drained: TaskRecord['drained'][] = [];
  const lastLook = new Timestamp({ t: 7, i: 1 });
  const record = { phase: 'committing', commit: { round: 1, time: new Timestamp({ t: 1, i: 1 }) }, lastLook };
  let readBelow = timeOf(lastLook);
  const sleep = () => {
    if (drained.at(-1)?.lookedTo !== undefined) record.phase = 'committed';
    readBelow += 1n;
    return Promise.resolve();
  };
  const deps = {
    watch: { until: () => Promise.resolve({ record }) },
    fleet: { wake: () => undefined },
    runtime: { clock: { sleep } },
    taskRecords: {
      update: (_id: string, _epoch: number, set: Partial<TaskRecord>) =>
        Promise.resolve(void drained.push(set.drained ?? null)),
    },
  };
  const stats = () => ({
    writesAbove: { writes: readBelow > timeOf(lastLook) ? 1 : 0, createsAndDrops: 0, deletedIn: new Set() },
    readBelow,
  });
  const sync = { taskId: 'a', epoch: 1, drain: () => Promise.resolve(true), stats };
  await followCommit(deps as unknown as MigrationDependencies, sync as unknown as SyncPipeline, null, never, never);
  expect(drained).toEqual([
    { round: 1, eventsAbove: 0, deletedIn: [] },
    { round: 1, eventsAbove: 1, deletedIn: [], lookedTo: lastLook },
  ]);
});

it('a task leaves a round that it cannot drain as soon as a later one counts', async () => {
  const drained: TaskRecord['drained'][] = [];
  const asked: bigint[] = [];
  const record = { phase: 'committing', commit: { round: 2, time: new Timestamp({ t: 1, i: 1 }) } };
  const sleep = () => Promise.resolve(void (record.phase = 'committed'));
  const deps = {
    watch: { view: { record }, until: () => Promise.resolve({ record: { ...record } }) },
    fleet: { wake: () => undefined },
    runtime: { clock: { sleep } },
    taskRecords: {
      update: (_id: string, _epoch: number, set: Partial<TaskRecord>) =>
        Promise.resolve(void drained.push(set.drained ?? null)),
    },
  };
  /** The first time is too old to read at. */
  const drain = (time: bigint, isSuperseded: () => boolean) => {
    asked.push(time);
    const isTooOld = asked.length === 1;
    if (isTooOld) {
      expect(isSuperseded()).toBe(false);
      record.commit = { round: 3, time: new Timestamp({ t: 500, i: 1 }) };
    }
    expect(isSuperseded()).toBe(isTooOld);
    return Promise.resolve(!isTooOld);
  };
  const sync = {
    taskId: 'a',
    epoch: 2,
    drain,
    stats: () => ({ writesAbove: { writes: 0, createsAndDrops: 0, deletedIn: new Set() } }),
  };
  await followCommit(deps as unknown as MigrationDependencies, sync as unknown as SyncPipeline, null, never, never);
  expect(asked).toEqual([1n, 500n].map((seconds) => (seconds << 32n) + 1n));
  expect(drained).toEqual([{ round: 3, eventsAbove: 0, deletedIn: [] }]);
});

it('a task that restarts while a commit is sealed stops draining once the opening is decided', async () => {
  const record = { phase: 'committing', commit: { round: 2, time: new Timestamp({ t: 1, i: 1 }) } };
  const deps = { watch: { view: { record }, until: () => Promise.resolve({ record: { ...record } }) } };
  const drain = (_time: bigint, isSuperseded: () => boolean) => {
    expect(isSuperseded()).toBe(false);
    record.phase = 'opening';
    expect(isSuperseded()).toBe(true);
    return Promise.resolve(false);
  };
  await followCommit(
    deps as unknown as MigrationDependencies,
    { drain } as unknown as SyncPipeline,
    null,
    never,
    never,
  );
});

it('a task ends once the opening is decided, and asks the source nothing more', async () => {
  const record = { phase: 'opening', commit: { round: 2, time: new Timestamp({ t: 1, i: 1 }) } };
  const deps = { watch: { until: () => Promise.resolve({ record }) } };
  await followCommit(deps as unknown as MigrationDependencies, {} as unknown as SyncPipeline, null, never, never);
});

it.each([
  ['opening', new Error('source gone'), true],
  ['committed', new Error('source gone'), true],
  ['committing', new Error('source gone'), false],
  ['opening', new ConvoyError('staleEpoch'), false],
] as const)('in %s the failure of a task (%s) does not matter: %s', async (phase, error, expected) => {
  const watch = { refresh: () => Promise.resolve({ record: { phase } }) } as unknown as MigrationDependencies['watch'];
  expect(await isOfNoMatter(error, watch, never)).toBe(expected);
});

describe('a task that waits for the end of the commit', () => {
  let record: { phase: string; commit: { round: number; time: Timestamp } };
  let writesAbove: number;
  let reported: TaskRecord['drained'][];
  let wakes: number;
  let changed: Condition;
  /** Lets the time pass that it waits for. */
  let passTime: () => void;
  let ended: Promise<void>;

  beforeEach(async () => {
    record = { phase: 'committing', commit: { round: 1, time: new Timestamp({ t: 1, i: 1 }) } };
    [writesAbove, reported, wakes, changed] = [0, [], 0, new Condition()];
    const deps = {
      watch: {
        view: { record },
        until: async (condition: (view: unknown) => boolean, signal: AbortSignal) => {
          await changed.until(() => condition({ record }), signal);
          return { record };
        },
      },
      fleet: { wake: () => (wakes += 1) },
      runtime: { clock: { sleep: () => new Promise<void>((resolve) => (passTime = resolve)) } },
      taskRecords: {
        update: (_id: string, _epoch: number, set: Partial<TaskRecord>) =>
          Promise.resolve(void reported.push(set.drained ?? null)),
      },
    };
    const sync = {
      taskId: 'a',
      epoch: 1,
      drain: () => Promise.resolve(true),
      stats: () => ({ writesAbove: { writes: writesAbove, createsAndDrops: 0, deletedIn: new Set() } }),
    };
    ended = followCommit(deps as unknown as MigrationDependencies, sync as unknown as SyncPipeline, null, never, never);
    await settled();
  });

  it('drains a later round, and ends once the opening is decided, without time passing', async () => {
    record.commit = { round: 2, time: new Timestamp({ t: 2, i: 1 }) };
    changed.changed();
    await settled();
    expect(reported).toEqual([1, 2].map((round) => ({ round, eventsAbove: 0, deletedIn: [] })));
    record.phase = 'opening';
    changed.changed();
    await ended;
  });

  it('reports later writes, and does not repeat what it has reported', async () => {
    passTime();
    await settled();
    expect([reported.length, wakes]).toEqual([1, 1]);
    writesAbove = 3;
    passTime();
    await settled();
    expect(reported.at(-1)).toEqual({ round: 1, eventsAbove: 3, deletedIn: [] });
    expect([reported.length, wakes]).toEqual([2, 2]);
    writesAbove = 4;
    passTime();
    await settled();
    expect([reported.length, wakes]).toEqual([2, 2]);
  });
});
