import { beforeEach, describe, expect, it } from 'vitest';
import { type ApplyWorkers, earlier } from '../../../../src/apply/apply-workers.js';
import { timestampOf } from '../../../../src/cluster/cluster-time.js';
import { type CheckpointStages, OwnedRecord, TaskCheckpoint } from '../../../../src/lifecycle/task/task-checkpoint.js';
import { PartitionTable } from '../../../../src/store/partition-table.js';
import type { TaskRecord, TaskRecords } from '../../../../src/store/task-record.js';
import { collectionOf, never, settled } from '../../model/parts.js';
import { untilAborted } from '../../model/scheduler.js';
import { bringTo } from '../../model/partition-states.js';
import { only } from '../../../../../../test/only.js';
import type { Clock } from '../../../../src/async/clock.js';
import type { InstanceConfig } from '../../../../src/config/instance-schema.js';
import type { EventDispatcher } from '../../../../src/apply/event-dispatcher.js';
import type { RereadSet } from '../../../../src/store/reread-set.js';
import type { ApplyStage, UnknownCollections } from '../../../../src/lifecycle/task/apply-stage.js';
import type { TaskTables } from '../../../../src/lifecycle/task/followed-collections.js';
import { Condition } from '../../../../src/async/waiting.js';
import type { Fleet } from '@convoy/api/fleet/fleet';
import type { Runtime } from '../../../../src/lifecycle/migration/runtime.js';

let oldest: { applyWorkers: bigint | null; buffered: bigint | null; unknown: bigint | null };
/** The earliest event that waits for a DDL change, by collection. */
let parked: Map<string, bigint>;
let table: PartitionTable;
let updates: Partial<TaskRecord>[];
let now_ms: number;
let dispatcher: { position: bigint; lastWrite: bigint; latest: bigint };
/** Called after every pause. */
let afterSleep: () => void;
/** The read times below it are forgotten, by collection. */
let forgotten: (uuid: string) => bigint;
let copyDone: boolean;
let wakes: number;
/** How long a pause lasts. */
let pauses: (signal: AbortSignal) => Promise<void>;
/** The copy of a partition has ended. */
let ended: Condition;
let owned: OwnedRecord;
let checkpoint: TaskCheckpoint;

beforeEach(() => {
  oldest = { applyWorkers: null, buffered: null, unknown: null };
  table = PartitionTable.fresh(collectionOf(), [], () => Promise.resolve());
  [updates, now_ms, afterSleep, forgotten] = [[], 0, () => undefined, () => 0n];
  parked = new Map();
  [copyDone, wakes, ended] = [false, 0, new Condition()];
  dispatcher = { position: 99n, lastWrite: 90n, latest: 90n };
  pauses = () => Promise.resolve();
  const sleep = (duration_ms: number, signal: AbortSignal): Promise<void> => {
    now_ms += duration_ms;
    afterSleep();
    return pauses(signal);
  };
  const clock = { monotonic_ms: () => now_ms, sleep };
  const update = (_id: string, _epoch: number, set: Partial<TaskRecord>) => Promise.resolve(void updates.push(set));
  owned = new OwnedRecord(
    only<TaskRecords>({ update }),
    only<TaskRecord>({ _id: 'a', epoch: 1, applyWatermark: null, acknowledged: 0, eventsApplied: 0 }),
    only<Clock>(clock),
    never,
  );
  const stages: CheckpointStages = {
    runtime: only<Runtime>({ clock: only<Clock>(clock), config: only<InstanceConfig>({ checkpoint_ms: 1_000 }) }),
    record: owned,
    apply: only<ApplyStage>({
      dispatcher: only<EventDispatcher>(dispatcher),
      workers: only<ApplyWorkers>({
        oldest: () => [oldest.applyWorkers, ...parked.values()].reduce(earlier, null),
        oldestOf: (uuid) => earlier(oldest.applyWorkers, parked.get(uuid) ?? null),
        hotDocuments: () => [],
      }),
      unknown: only<UnknownCollections>({
        get oldestWaiting() {
          return oldest.unknown;
        },
      }),
      progressed: only<Condition>({ changed: () => undefined }),
      eventsApplied: 3,
    }),
    rereads: only<RereadSet>({
      ofRecordOrder: 0,
      oldestPending: () => oldest.buffered,
      forgetReadings: (times) => void (forgotten = times),
    }),
    followed: only<TaskTables>({
      tables: new Map([['a', table]]),
      get copyDone() {
        return copyDone;
      },
    }),
    copier: ended,
    fleet: only<Fleet>({ wake: () => void (wakes += 1) }),
  };
  checkpoint = new TaskCheckpoint(stages, 10n);
});

describe('the checkpoint', () => {
  it('is what follows the routed position when everything before is done', () => {
    expect(checkpoint.time()).toBe(100n);
  });

  it.each(['applyWorkers', 'buffered', 'unknown'] as const)('is the first event that is not done with: %s', (stage) => {
    oldest = { applyWorkers: 80n, buffered: 80n, unknown: 80n, [stage]: 50n };
    expect(checkpoint.time()).toBe(50n);
  });

  it.each(['starting', 'copying'] as const)('is the read time of a partition that is %s', (state) => {
    for (const partition of table.partitions) bringTo(partition, state, 40n);
    expect(checkpoint.time()).toBe(40n);
  });

  it('keeps no read times of re-read keys while a long copy holds it back, unless their events wait', async () => {
    for (const partition of table.partitions) bringTo(partition, 'copying', 40n);
    await checkpoint.save();
    expect([updates[0]?.checkpoint, forgotten('a')]).toEqual([timestampOf(40n), 100n]);
    oldest = { applyWorkers: 60n, buffered: 50n, unknown: null };
    await checkpoint.save();
    expect(forgotten('a')).toBe(50n);
  });

  it('keeps those of a collection whose events wait for a DDL change, and no others', async () => {
    parked = new Map([['a', 60n]]);
    await checkpoint.save();
    expect([updates[0]?.checkpoint, forgotten('a'), forgotten('b')]).toEqual([timestampOf(60n), 60n, 100n]);
  });

  it('never goes back', async () => {
    await checkpoint.save();
    oldest.applyWorkers = 50n;
    await checkpoint.save();
    expect(updates.map((set) => set.checkpoint)).toEqual([timestampOf(100n), timestampOf(100n)]);
  });
});

it('the fleet is woken once the end of the copy is stored, and again when a later collection is copied', async () => {
  const wakesAfterSaving = async (isDone: boolean): Promise<number> => {
    copyDone = isDone;
    await checkpoint.save();
    return wakes;
  };
  expect(await wakesAfterSaving(false)).toBe(0);
  expect(await wakesAfterSaving(true)).toBe(1);
  expect(await wakesAfterSaving(true)).toBe(1);
  expect(await wakesAfterSaving(false)).toBe(1);
  expect(await wakesAfterSaving(true)).toBe(2);
});

it('an owner is confirmed before it sends anything when ten minutes have passed', async () => {
  now_ms = 9 * 60_000;
  await owned.confirmOverdue();
  expect(updates).toEqual([]);
  now_ms = 11 * 60_000;
  await owned.confirmOverdue();
  expect(updates).toHaveLength(1);
  now_ms = 12 * 60_000;
  await owned.confirmOverdue();
  expect(updates).toHaveLength(1);
});

it('the end of the copy is stored at once', async () => {
  const stop = new AbortController();
  pauses = (signal) => untilAborted(signal, () => undefined);
  const keeping = checkpoint.keep(stop.signal).catch(() => undefined);
  ended.changed();
  await settled();
  expect(updates).toEqual([]);
  copyDone = true;
  ended.changed();
  await settled();
  expect(updates).toMatchObject([{ copyDone: true }]);
  stop.abort(new Error('the test is over'));
  await keeping;
});

describe('a checkpoint that moves all the time', () => {
  /** How often it is stored from 11 s on, in 19 s. */
  async function stored(change: () => void): Promise<number> {
    const at_ms: number[] = [];
    afterSleep = () => {
      if (now_ms > 30_000) throw new Error('over');
      at_ms.push(...updates.splice(0).map(() => now_ms));
      dispatcher.position += 1n;
      change();
    };
    await expect(checkpoint.keep(new AbortController().signal)).rejects.toThrow('over');
    return at_ms.filter((at) => at > 11_000).length;
  }

  it('is stored seldom after 10 s without events', async () => {
    expect(await stored(() => undefined)).toBe(3);
  });

  it.each([
    ['come', () => (dispatcher.latest += 1n)],
    ['are not applied yet', () => (oldest.applyWorkers = 5_000n)],
  ])('is stored every time while events %s', async (_what, change) => {
    expect(await stored(change)).toBe(19);
  });
});
