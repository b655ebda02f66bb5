import { idleProgress } from '@convoy/api/contract/progress';
import type { InstanceReport } from '@convoy/api/fleet/fleet';
import { LoneFleet } from '@convoy/api/fleet/lone-fleet';
import { Timestamp } from 'mongodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../../src/cluster/clock.js';
import { MigrationWatch } from '../../../../src/lifecycle/migration/migration-watch.js';
import type { Runtime } from '../../../../src/lifecycle/migration/runtime.js';
import type { MigrationRecord, MigrationRecords } from '../../../../src/store/migration-record.js';
import type { ShareRecords } from '../../../../src/store/share-record.js';
import { never, settled } from '../../model/parts.js';
import { untilAborted } from '../../model/scheduler.js';

/** The longest pause between two readings without news. */
const poll_ms = 1000;
const identity = { id: 'shard0', syncID: 's', incarnation: 'i', release: '1.9.0' };

let reads: number;
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
    if (pause_ms >= poll_ms / 2) await untilAborted(signal, () => undefined);
    await settled();
    signal.throwIfAborted();
  },
} as unknown as Clock;

beforeEach(async () => {
  reads = 0;
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
