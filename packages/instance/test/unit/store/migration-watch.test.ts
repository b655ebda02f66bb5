import type { FleetNews } from '@convoy/api/fleet/fleet';
import { idleReport } from '@convoy/api/fleet/idle-report';
import { LoneFleet } from '@convoy/api/fleet/lone-fleet';
import { Timestamp } from 'mongodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MigrationWatch, untilOrFor } from '../../../src/store/migration-watch.js';
import type { MigrationRecords, MigrationRecord } from '../../../src/store/migration-record.js';
import type { TaskRecords, TaskRecord } from '../../../src/store/task-record.js';
import { recordWith, taskWith, viewWith } from '../model/migration-state.js';
import { never, settled } from '../model/parts.js';
import { untilAborted } from '../model/scheduler.js';
import { only } from '../../../../../test/only.js';
import { runtimeWith } from '../model/deps-with.js';

/** The longest pause between two reads without news. */
const poll_ms = 1000;
const identity = { id: 'shard0', syncID: 's', incarnation: 'i', release: '2.0.0' };

let reads: number;
let pauses_ms: number[];
/** What a read of the state waits for. */
let answered: Promise<void>;
let fleet: TalkingFleet;
/** As in the record. */
let ddlWatermark: Timestamp | null;
let firstEpoch: number;
let taskReads: number;
let watch: MigrationWatch;
let stop: AbortController;
let running: Promise<unknown>;

/** A fleet that sends what the test chooses. */
class TalkingFleet extends LoneFleet {
  readonly #listeners = new Set<(news: ReadonlySet<FleetNews>) => void>();

  override watch(listener: (news: ReadonlySet<FleetNews>) => void): () => void {
    this.#listeners.add(listener);
    return super.watch(listener);
  }

  says(news: FleetNews): void {
    for (const listener of this.#listeners) listener(new Set([news]));
  }
}

function time(seconds: number): Timestamp {
  return new Timestamp({ t: seconds, i: 0 });
}

/** Short pauses end at once, the long one never by itself. */
const clock = {
  monotonic_ms: () => 0,
  sleep: async (pause_ms: number, signal: AbortSignal) => {
    pauses_ms.push(pause_ms);
    if (pause_ms >= poll_ms / 2) await untilAborted(signal, () => undefined);
    await settled();
    signal.throwIfAborted();
  },
};

/** Tasks of others, which nobody reads. */
const unread = {
  readAll: () => Promise.reject(new Error('nobody reads all tasks')),
  readSome: () => Promise.reject(new Error('nobody reads single tasks')),
};

beforeEach(async () => {
  reads = 0;
  pauses_ms = [];
  answered = Promise.resolve();
  stop = new AbortController();
  [ddlWatermark, firstEpoch, taskReads] = [null, 100, 0];
  fleet = new TalkingFleet();
  const record = recordWith({ startTime: time(1), taskIds: [], firstEpoch });
  const read = async (): Promise<MigrationRecord> => {
    reads += 1;
    const release = `after ${reads} readings`;
    await answered;
    return { ...record, firstEpoch, release, ddlWatermark: ddlWatermark === null ? null : { time: ddlWatermark } };
  };
  const readAll = (): Promise<TaskRecord[]> => {
    taskReads += 1;
    return Promise.resolve([]);
  };
  watch = new MigrationWatch(
    only<MigrationRecords>({ read }),
    only<TaskRecords>({ ...unread, readAll }),
    fleet,
    runtimeWith({ clock }),
    { record, tasks: new Map() },
    [],
  );
  running = watch.run(stop.signal).catch(() => undefined);
  await rested();
});

afterEach(async () => {
  stop.abort(new Error('the test is over'));
  await running;
});

async function rested(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await settled();
}

describe('the state of a migration', () => {
  it('is read again after a wake, an own one too', async () => {
    fleet.wake();
    await watch.until(({ record }) => record.release === 'after 1 readings', never);
    await rested();
    expect(reads).toBe(1);
  });

  it('is read again after a wake that comes during a read', async () => {
    let answer: () => void = () => undefined;
    answered = new Promise((resolve) => (answer = resolve));
    fleet.wake();
    await rested();
    expect(reads).toBe(1);
    fleet.wake();
    await rested();
    answer();
    await watch.until(({ record }) => record.release === 'after 2 readings', never);
    await rested();
    expect(reads).toBe(2);
  });

  it('is not taken from a later migration, which began after this one was cleaned up', async () => {
    firstEpoch = 200;
    await expect(watch.refresh(never)).rejects.toMatchObject({ error: 'staleEpoch' });
    expect(watch.view.record.firstEpoch).toBe(100);
  });

  it('is read again when the leader changes', async () => {
    await fleet.join(identity);
    await watch.until(({ record }) => record.release === 'after 1 readings', never);
  });

  it('is not read for reports, which come all the time', async () => {
    for (let step = 0; step < 5; step += 1) {
      fleet.report(idleReport(identity, { step: String(step) }));
      await rested();
    }
    expect(reads).toBe(0);
  });

  it('shows DDL watermark and ordinals as soon as the record does, and the rest in time', async () => {
    ddlWatermark = time(9);
    fleet.announceDdlWatermark();
    await watch.until(() => watch.journalled.ddlWatermark === time(9).toBigInt(), never);
    await rested();
    expect([reads, taskReads]).toEqual([1, 0]);
    expect(watch.view.record.ddlWatermark).toBeNull();
  });

  it('never goes back in DDL watermark and ordinals, whatever a late answer says', async () => {
    ddlWatermark = time(9);
    await watch.refresh(never);
    ddlWatermark = time(8);
    await watch.refresh(never);
    expect(watch.journalled).toMatchObject({ ddlWatermark: time(9).toBigInt(), known: 0, done: 0 });
  });
});

describe('a Redis that lies', () => {
  /** News that a fleet over it may send, at any time and any number of times. */
  const lies: FleetNews[] = ['ddlWatermark', 'wake', 'leader', 'report'];

  it('makes an instance believe nothing but the record', async () => {
    ddlWatermark = time(3);
    for (const lie of lies) fleet.says(lie);
    await watch.until(() => watch.journalled.ddlWatermark !== null, never);
    await rested();
    expect(watch.journalled).toMatchObject({ ddlWatermark: time(3).toBigInt(), known: 0, done: 0 });
    expect(watch.view.record.release).toMatch(/^after \d readings$/);
  });

  it.each(lies)('and sends %s endlessly makes it read no more often than the pause allows', async (lie) => {
    for (let step = 0; step < 100; step += 1) {
      fleet.says(lie);
      await settled();
    }
    await rested();
    const pauses = pauses_ms.filter((pause_ms) => pause_ms < poll_ms / 2).length;
    expect(reads).toBeLessThan(pauses + 1);
    expect(pauses_ms.filter((pause_ms) => pause_ms > 0 && pause_ms < 10)).toEqual([]);
  });
});

describe('news', () => {
  /** The pause before a read, in a fleet of this many tasks. */
  async function pauseOf(
    tasks: number,
    phase: MigrationRecord['phase'],
    commitRequested: boolean,
  ): Promise<number | undefined> {
    const taskIds = Array.from({ length: tasks }, (_, number) => `shard${number}`);
    const view = viewWith(
      { phase, taskIds },
      taskIds.map(() => ({ commitRequested })),
    );
    pauses_ms = [];
    const read = () => Promise.reject(new Error('nobody reads the record'));
    const end = AbortSignal.abort(new Error('the first pause is enough'));
    await new MigrationWatch(
      only<MigrationRecords>({ read }),
      only<TaskRecords>(unread),
      fleet,
      runtimeWith({ clock }),
      view,
      [],
    )
      .run(end)
      .catch(() => undefined);
    return pauses_ms[0];
  }

  it('is read after a pause that grows with the fleet, up to a few times a second', async () => {
    expect(await pauseOf(2, 'syncing', false)).toBe(20);
    expect(await pauseOf(2, 'committing', true)).toBe(20);
    expect(await pauseOf(64, 'committing', true)).toBe(150);
    expect(await pauseOf(256, 'syncing', false)).toBe(256);
  });
});

describe('a DDL watermark', () => {
  /** The pause before the record is read for it, in a fleet of two tasks. */
  async function pauseIn(phase: MigrationRecord['phase'], commitRequested: boolean): Promise<number> {
    const view = viewWith({ phase, taskIds: ['a', 'b'] }, [{ commitRequested }, { commitRequested }]);
    const end = new AbortController();
    pauses_ms = [];
    let passed_ms = 0;
    const read = () => {
      // The long pause ends with the news.
      passed_ms = pauses_ms.reduce((sum, pause_ms) => (pause_ms < poll_ms / 2 ? sum + pause_ms : sum), 0);
      end.abort(new Error('it is read'));
      return Promise.resolve(view.record);
    };
    const records = only<MigrationRecords>({ read });
    const own = new TalkingFleet();
    const watching = new MigrationWatch(records, only<TaskRecords>(unread), own, runtimeWith({ clock }), view, []);
    const ended = watching.run(end.signal).catch(() => undefined);
    own.announceDdlWatermark();
    await ended;
    return passed_ms;
  }

  it('is read a few times a second, and sooner during a commit', async () => {
    expect(await pauseIn('syncing', false)).toBe(150);
    expect(await pauseIn('syncing', true)).toBe(20);
    expect(await pauseIn('committing', true)).toBe(20);
    expect(await pauseIn('opening', true)).toBe(20);
    expect(await pauseIn('committed', true)).toBe(150);
  });
});

describe('a large fleet', () => {
  const size = 256;
  const ids = Array.from({ length: size }, (_, number) => `shard${number}`);
  let now_ms: number;
  let phase: MigrationRecord['phase'];
  let reads: { all: number; own: number };
  let fleet: LoneFleet;
  let watch: MigrationWatch;

  const taskOf = (_id: string): TaskRecord => taskWith({ _id, acknowledged: reads.own });

  beforeEach(() => {
    [now_ms, phase, reads, fleet] = [0, 'syncing', { all: 0, own: 0 }, new LoneFleet()];
    const record = recordWith({ taskIds: ids });
    const read = (): Promise<MigrationRecord> => Promise.resolve({ ...record, phase });
    const tasks = {
      readAll: () => Promise.resolve(ids.map(taskOf)).finally(() => (reads.all += 1)),
      readSome: (some: readonly string[]) => {
        reads.own += 1;
        return Promise.resolve(some.map(taskOf));
      },
    };
    watch = new MigrationWatch(
      only<MigrationRecords>({ read }),
      only<TaskRecords>(tasks),
      fleet,
      runtimeWith({ clock: { ...clock, monotonic_ms: () => now_ms } }),
      { record: { ...record, phase }, tasks: new Map(ids.map((id) => [id, taskOf(id)])) },
      ['shard7'],
    );
    void watch.run(stop.signal).catch(() => undefined);
  });

  /** Wakes the watch several times a second, and lets it read. */
  async function wakeFor(seconds: number): Promise<void> {
    for (const end_ms = now_ms + seconds * 1_000; now_ms < end_ms; now_ms += 250) {
      fleet.wake();
      await rested();
    }
  }

  it('reads the own tasks after every wake, and those of others within a common bound', async () => {
    await wakeFor(60);
    expect(reads.own).toBeGreaterThan(200);
    expect(reads.all * size * size).toBeLessThanOrEqual(20_000 * 61);
    expect(reads.all).toBeGreaterThan(15);
    expect(watch.view.tasks.size).toBe(size);
    expect(watch.view.tasks.get('shard7')?.acknowledged).toBe(reads.own);
  });

  it('reads all after a change of phase, and always as the leader', async () => {
    await wakeFor(5);
    const before = reads.all;
    phase = 'committing';
    await wakeFor(0.25);
    expect(reads.all).toBe(before + 1);
    await fleet.join(identity);
    await rested();
    const asLeader = reads.all;
    await wakeFor(5);
    expect(reads.all).toBe(asLeader + 20);
  });
});

it('waiting for a condition or a time ends with the signal, and leaves nothing behind', async () => {
  const pending = new Set<AbortSignal>();
  const wait = (signal: AbortSignal): Promise<never> => {
    pending.add(signal);
    signal.addEventListener('abort', () => pending.delete(signal));
    return untilAborted<never>(signal, () => undefined);
  };
  const parts = {
    watch: only<MigrationWatch>({ until: (_: unknown, signal: AbortSignal) => wait(signal) }),
    runtime: runtimeWith({ clock: { ...clock, sleep: (_: number, signal: AbortSignal) => wait(signal) } }),
  };
  const end = new AbortController();
  const waited = untilOrFor(parts, () => false, 100, end.signal);
  end.abort(new Error('the end'));
  await expect(waited).rejects.toThrow('the end');
  expect(pending.size).toBe(0);
  await expect(untilOrFor(parts, () => false, 100, end.signal)).rejects.toThrow('the end');
});
