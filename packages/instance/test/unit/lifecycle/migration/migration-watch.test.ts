import { idleProgress } from '@convoy/api/contract/progress';
import type { InstanceReport } from '@convoy/api/fleet/fleet';
import { LoneFleet } from '@convoy/api/fleet/lone-fleet';
import { Timestamp } from 'mongodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../../src/cluster/clock.js';
import { MigrationWatch, untilOrFor } from '../../../../src/lifecycle/migration/migration-watch.js';
import type { Runtime } from '../../../../src/lifecycle/migration/runtime.js';
import type { MigrationRecord, MigrationRecords } from '../../../../src/store/migration-record.js';
import type { ShareRecord, ShareRecords } from '../../../../src/store/share-record.js';
import { never, settled } from '../../model/parts.js';
import { untilAborted } from '../../model/scheduler.js';

/** The longest pause between two readings without news. */
const poll_ms = 1000;
const identity = { id: 'shard0', syncID: 's', incarnation: 'i', release: '1.9.0' };

let reads: number;
let pauses_ms: number[];
/** What a reading of the state waits for. */
let answered: Promise<void>;
let fleet: LoneFleet;
let watch: MigrationWatch;
let stop: AbortController;
let running: Promise<unknown>;

/** Short pauses end at once, the long one never by itself. */
const clock = {
  monotonic_ms: () => 0,
  sleep: async (pause_ms: number, signal: AbortSignal) => {
    pauses_ms.push(pause_ms);
    if (pause_ms >= poll_ms / 2) await untilAborted(signal, () => undefined);
    await settled();
    signal.throwIfAborted();
  },
} as unknown as Clock;

beforeEach(async () => {
  reads = 0;
  pauses_ms = [];
  answered = Promise.resolve();
  stop = new AbortController();
  fleet = new LoneFleet();
  const record = { startTime: new Timestamp({ t: 1, i: 1 }), horizon: null, shareIds: [] } as unknown as MigrationRecord;
  const read = async (): Promise<MigrationRecord> => {
    reads += 1;
    const release = `after ${reads} readings`;
    await answered;
    return { ...record, release };
  };
  const records = { read } as unknown as MigrationRecords;
  const shares = { readAll: () => Promise.resolve([]) } as unknown as ShareRecords;
  watch = new MigrationWatch(records, shares, fleet, { clock } as Runtime, { record, shares: new Map() });
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
  it('is read again after a nudge, an own one too', async () => {
    fleet.nudge();
    await watch.until(({ record }) => record.release === 'after 1 readings', never);
    await rested();
    expect(reads).toBe(1);
  });

  it('is read again after a nudge that comes while it is being read', async () => {
    let answer: () => void = () => undefined;
    answered = new Promise((resolve) => (answer = resolve));
    fleet.nudge();
    await rested();
    expect(reads).toBe(1);
    fleet.nudge();
    await rested();
    answer();
    await watch.until(({ record }) => record.release === 'after 2 readings', never);
    await rested();
    expect(reads).toBe(2);
  });

  it('is read again when the leader changes', async () => {
    await fleet.join(identity);
    await watch.until(({ record }) => record.release === 'after 1 readings', never);
  });

  it('is not read for reports, which come all the time', async () => {
    for (let step = 0; step < 5; step += 1) {
      fleet.report({ identity, step: String(step), progress: idleProgress() } as unknown as InstanceReport);
      await rested();
    }
    expect(reads).toBe(0);
  });

  it('is looked at again, not read, when the horizon moves', async () => {
    const seen = watch.until(() => watch.horizon?.time === 9n, never);
    fleet.publishHorizon({ migration: String((1n << 32n) + 1n), time: 9n, ordinal: 0 });
    await seen;
    await rested();
    expect(reads).toBe(0);
  });
});

describe('news', () => {
  /** The pause before they are read by a fleet of so many shares. */
  async function pauseOf(shares: number, phase: MigrationRecord['phase'], commitRequested: boolean): Promise<number | undefined> {
    const shareIds = Array.from({ length: shares }, (_, number) => `shard${number}`);
    const view = { record: { phase, shareIds } as unknown as MigrationRecord, shares: new Map(shareIds.map((id) => [id, { commitRequested } as unknown as ShareRecord])) };
    pauses_ms = [];
    const unread = {};
    const end = AbortSignal.abort(new Error('the first pause is enough'));
    await new MigrationWatch(unread as unknown as MigrationRecords, unread as unknown as ShareRecords, fleet, { clock } as Runtime, view).run(end).catch(() => undefined);
    return pauses_ms[0];
  }

  it('are read a few times a second, and sooner while a commit goes from hand to hand, as often by a fleet of any size', async () => {
    expect(await pauseOf(2, 'syncing', false)).toBe(150);
    expect(await pauseOf(2, 'syncing', true)).toBe(20);
    expect(await pauseOf(2, 'committing', true)).toBe(20);
    expect(await pauseOf(2, 'opening', true)).toBe(20);
    expect(await pauseOf(64, 'committing', true)).toBe(150);
    expect(await pauseOf(2, 'committed', true)).toBe(150);
  });
});

it('who waits for a condition or for a time ends with the signal, and leaves nothing behind', async () => {
  const pending = new Set<AbortSignal>();
  const wait = (signal: AbortSignal): Promise<never> => {
    pending.add(signal);
    signal.addEventListener('abort', () => pending.delete(signal));
    return untilAborted<never>(signal, () => undefined);
  };
  const parts = { watch: { until: (_: unknown, signal: AbortSignal) => wait(signal) }, runtime: { clock: { ...clock, sleep: (_: number, signal: AbortSignal) => wait(signal) } } };
  const end = new AbortController();
  const waited = untilOrFor(parts, () => false, 100, end.signal);
  end.abort(new Error('the end'));
  await expect(waited).rejects.toThrow('the end');
  expect(pending.size).toBe(0);
  await expect(untilOrFor(parts, () => false, 100, end.signal)).rejects.toThrow('the end');
});
