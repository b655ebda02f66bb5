import { Timestamp } from 'mongodb';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { beforeEach, describe, expect, it } from 'vitest';
import { only } from '../../../../../../test/only.js';
import { timeOf } from '../../../../src/cluster/cluster-time.js';
import { isOfNoMatter } from '../../../../src/lifecycle/task/sync-tasks.js';
import type { MigrationWatch } from '../../../../src/store/migration-watch.js';
import type { SyncPipeline } from '../../../../src/lifecycle/task/sync-pipeline.js';
import type { CommitRound, MigrationRecord } from '../../../../src/store/migration-record.js';
import type { TaskRecord } from '../../../../src/store/task-record.js';
import { Condition } from '../../../../src/async/waiting.js';
import { depsWith } from '../../model/deps-with.js';
import { roundWith, statsWith, taskWith, viewWith } from '../../model/migration-state.js';
import { never, settled } from '../../model/parts.js';
import type { MigrationView } from '../../../../src/store/migration-view.js';
import { followCommit, followSeal } from '../../../../src/lifecycle/task/follow-commit.js';

const round = (number: number, seconds = 1): CommitRound =>
  roundWith({ round: number, time: new Timestamp({ t: seconds, i: 1 }) });

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
  const view = viewWith({ phase: 'committing', commit: round(2) });
  const { record } = view;
  const sleep = () => {
    if (record.commit?.round === 3) record.phase = 'committed';
    record.commit = round(3);
    return Promise.resolve();
  };
  const deps = depsWith({
    watch: { view, until: () => Promise.resolve(view) },
    fleet: { wake: () => undefined },
    runtime: { clock: { sleep } },
    taskRecords: {
      update: (_id: string, _epoch: number, set: Partial<TaskRecord>) =>
        Promise.resolve(void drained.push(set.drained ?? null)),
    },
  });
  const sync = {
    taskId: 'a',
    epoch: 2,
    drain: () => Promise.resolve(true),
    stats: () => statsWith({ lateWrites: { writes, createsAndDrops, deletedIn: new Set(deletedIn) } }),
  };
  await followCommit(deps, only<SyncPipeline>(sync), before, never, never);
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

it('a task reports that its stream has passed the time of the leader, with the late writes up to there', async () => {
  const drained: TaskRecord['drained'][] = [];
  const lastLook = new Timestamp({ t: 7, i: 1 });
  const view = viewWith({ phase: 'committing', commit: round(1), lastLook });
  let readBelow = timeOf(lastLook);
  const sleep = () => {
    if (drained.at(-1)?.lookedTo !== undefined) view.record.phase = 'committed';
    readBelow += 1n;
    return Promise.resolve();
  };
  const deps = depsWith({
    watch: { view, until: () => Promise.resolve(view) },
    fleet: { wake: () => undefined },
    runtime: { clock: { sleep } },
    taskRecords: {
      update: (_id: string, _epoch: number, set: Partial<TaskRecord>) =>
        Promise.resolve(void drained.push(set.drained ?? null)),
    },
  });
  const stats = () =>
    statsWith({
      lateWrites: { writes: readBelow > timeOf(lastLook) ? 1 : 0, createsAndDrops: 0, deletedIn: new Set() },
      readBelow,
    });
  const sync = { taskId: 'a', epoch: 1, drain: () => Promise.resolve(true), stats };
  await followCommit(deps, only<SyncPipeline>(sync), null, never, never);
  expect(drained).toEqual([
    { round: 1, eventsAbove: 0, deletedIn: [] },
    { round: 1, eventsAbove: 1, deletedIn: [], lookedTo: lastLook },
  ]);
});

it('a task reports again what a late copy of its earlier report has replaced, and nothing else twice', async () => {
  const drained: TaskRecord['drained'][] = [];
  const view = viewWith({ phase: 'committing', commit: round(1) });
  const tasks = new Map([['a', taskWith({})]]);
  const store = (report: TaskRecord['drained']): void => void tasks.set('a', taskWith({ drained: report }));
  let looks = 0;
  const sleep = () => {
    looks += 1;
    if (looks === 2) store({ round: 0, eventsAbove: 0, deletedIn: [] });
    if (looks === 4) view.record.phase = 'committed';
    return Promise.resolve();
  };
  const deps = depsWith({
    watch: { view: { ...view, tasks }, until: () => Promise.resolve(view) },
    fleet: { wake: () => undefined },
    runtime: { clock: { sleep } },
    taskRecords: {
      update: (_id: string, _epoch: number, set: Partial<TaskRecord>) => {
        drained.push(set.drained ?? null);
        store(set.drained ?? null);
        return Promise.resolve();
      },
    },
  });
  const sync = { taskId: 'a', epoch: 1, drain: () => Promise.resolve(true), stats: () => statsWith() };
  await followCommit(deps, only<SyncPipeline>(sync), null, never, never);
  const report = { round: 1, eventsAbove: 0, deletedIn: [] };
  expect([looks, drained]).toEqual([4, [report, report]]);
});

it('a task leaves a round that it cannot drain as soon as a later one counts', async () => {
  const drained: TaskRecord['drained'][] = [];
  const asked: bigint[] = [];
  const view = viewWith({ phase: 'committing', commit: round(2) });
  const { record } = view;
  const sleep = () => Promise.resolve(void (record.phase = 'committed'));
  const deps = depsWith({
    watch: { view, until: () => Promise.resolve({ ...view, record: { ...record } }) },
    fleet: { wake: () => undefined },
    runtime: { clock: { sleep } },
    taskRecords: {
      update: (_id: string, _epoch: number, set: Partial<TaskRecord>) =>
        Promise.resolve(void drained.push(set.drained ?? null)),
    },
  });
  /** The first time is too old to read at. */
  const drain = (time: bigint, isSuperseded: () => boolean) => {
    asked.push(time);
    const isTooOld = asked.length === 1;
    if (isTooOld) {
      expect(isSuperseded()).toBe(false);
      record.commit = round(3, 500);
    }
    expect(isSuperseded()).toBe(isTooOld);
    return Promise.resolve(!isTooOld);
  };
  await followCommit(
    deps,
    only<SyncPipeline>({ taskId: 'a', epoch: 2, drain, stats: () => statsWith() }),
    null,
    never,
    never,
  );
  expect(asked).toEqual([1n, 500n].map((seconds) => (seconds << 32n) + 1n));
  expect(drained).toEqual([{ round: 3, eventsAbove: 0, deletedIn: [] }]);
});

it('a task that restarts while a commit is sealed stops draining once the opening is decided', async () => {
  const view = viewWith({ phase: 'committing', commit: round(2) });
  const { record } = view;
  const watch = { view, until: () => Promise.resolve({ ...view, record: { ...record } }) };
  const drain = (_time: bigint, isSuperseded: () => boolean) => {
    expect(isSuperseded()).toBe(false);
    record.phase = 'opening';
    expect(isSuperseded()).toBe(true);
    return Promise.resolve(false);
  };
  await followCommit(depsWith({ watch }), only<SyncPipeline>({ drain }), null, never, never);
});

it('a task seals its commit time once the leader has sealed it', async () => {
  const view = viewWith({ phase: 'committing', commit: round(1) });
  const changed = new Condition();
  const sealed: bigint[] = [];
  const until = async (condition: (seen: MigrationView) => boolean, signal: AbortSignal) => {
    await changed.until(() => condition(view), signal);
    return view;
  };
  const followed = followSeal(
    depsWith({ watch: { view, until } }),
    only<SyncPipeline>({ seal: (time) => void sealed.push(time) }),
    never,
  );
  await settled();
  expect(sealed).toEqual([]);
  view.record.commit = { ...round(2, 7), sealed: true };
  changed.changed();
  await followed;
  expect(sealed).toEqual([(7n << 32n) + 1n]);
});

it('a task ends once the opening is decided, and asks the source nothing more', async () => {
  const view = viewWith({ phase: 'opening', commit: round(2) });
  await followCommit(
    depsWith({ watch: { view, until: () => Promise.resolve(view) } }),
    only<SyncPipeline>({}),
    null,
    never,
    never,
  );
});

it.each([
  ['opening', new Error('source gone'), true],
  ['committed', new Error('source gone'), true],
  ['committing', new Error('source gone'), false],
  ['opening', new ConvoyError('staleEpoch'), false],
] as const)('in %s the failure of a task (%s) does not matter: %s', async (phase, error, expected) => {
  const watch = { refresh: () => Promise.resolve(viewWith({ phase })) };
  expect(await isOfNoMatter(error, only<MigrationWatch>(watch), never)).toBe(expected);
});

describe('a task that waits for the end of the commit', () => {
  let record: MigrationRecord;
  let lateWrites: number;
  let reported: TaskRecord['drained'][];
  let wakes: number;
  let changed: Condition;
  /** Lets the time pass that it waits for. */
  let passTime: () => void;
  let ended: Promise<void>;

  beforeEach(async () => {
    const tasks = new Map<string, TaskRecord>();
    const view = { ...viewWith({ phase: 'committing', commit: round(1) }), tasks };
    ({ record } = view);
    [lateWrites, reported, wakes, changed] = [0, [], 0, new Condition()];
    const deps = depsWith({
      watch: {
        view,
        until: async (condition: (seen: MigrationView) => boolean, signal: AbortSignal) => {
          await changed.until(() => condition(view), signal);
          return view;
        },
      },
      fleet: { wake: () => (wakes += 1) },
      runtime: { clock: { sleep: () => new Promise<void>((resolve) => (passTime = resolve)) } },
      taskRecords: {
        update: (id: string, _epoch: number, set: Partial<TaskRecord>) => {
          reported.push(set.drained ?? null);
          return Promise.resolve(void tasks.set(id, taskWith(set)));
        },
      },
    });
    const sync = {
      taskId: 'a',
      epoch: 1,
      drain: () => Promise.resolve(true),
      stats: () => statsWith({ lateWrites: { writes: lateWrites, createsAndDrops: 0, deletedIn: new Set() } }),
    };
    ended = followCommit(deps, only<SyncPipeline>(sync), null, never, never);
    await settled();
  });

  it('drains a later round, and ends once the opening is decided, without time passing', async () => {
    record.commit = round(2, 2);
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
    lateWrites = 3;
    passTime();
    await settled();
    expect(reported.at(-1)).toEqual({ round: 1, eventsAbove: 3, deletedIn: [] });
    expect([reported.length, wakes]).toEqual([2, 2]);
    lateWrites = 4;
    passTime();
    await settled();
    expect([reported.length, wakes]).toEqual([2, 2]);
  });
});
