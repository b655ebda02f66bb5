import { Timestamp } from 'mongodb';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { LoneFleet } from '@convoy/api/fleet/lone-fleet';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { leadWhenElected, supervise } from '../../../../src/lifecycle/leader/lead.js';
import type { MigrationDependencies } from '../../../../src/lifecycle/migration/migration-dependencies.js';
import { MigrationWatch } from '../../../../src/store/migration-watch.js';
import type { MigrationRecord, MigrationRecords } from '../../../../src/store/migration-record.js';
import type { TaskRecord, TaskRecords } from '../../../../src/store/task-record.js';
import { fakeCluster } from '../../fake-node-client.js';
import { clientWith } from '../../model/client-with.js';
import { depsWith } from '../../model/deps-with.js';
import { recordWith, taskWith, viewWith } from '../../model/migration-state.js';
import { never, once, settled } from '../../model/parts.js';
import { untilAborted } from '../../model/scheduler.js';
import { only } from '../../../../../../test/only.js';
import type { Clock } from '../../../../src/async/clock.js';
import type { Runtime } from '../../../../src/lifecycle/migration/runtime.js';
import type { MigrationView } from '../../../../src/store/migration-view.js';

const refusal = new Error('IndexNotFound');
let isReplaced: boolean;

beforeEach(() => {
  isReplaced = true;
});

/** A leader whose command a server refuses; a successor, if there is one, has committed by then. */
async function lead(): Promise<void> {
  const options = parseStartRequest({
    source: 'cluster0',
    destination: 'cluster1',
    enableUserWriteBlocking: true,
    verification: { enabled: false },
  });
  const handOver = { source: new Timestamp({ t: 1, i: 1 }), destination: new Timestamp({ t: 2, i: 1 }) };
  const view = viewWith({ phase: 'opening', taskIds: [], options, handOver });
  const cluster = fakeCluster({ router: clientWith({}) });
  const deps = depsWith({
    runtime: {
      retrying: once,
      logger: { info: () => undefined, warn: () => undefined },
      clock: { sleep: () => Promise.resolve(void (view.record.phase = 'committed')) },
    },
    fleet: { isLeader: () => true },
    source: cluster,
    destination: cluster,
    watch: { view, until: () => Promise.resolve(view), refresh: () => Promise.resolve(view) },
    records: {
      takeLeaderEpoch: () => Promise.resolve(1),
      read: () => Promise.reject(refusal),
      updateAsLeader: () => Promise.reject(refusal),
      confirmLeader: () => (isReplaced ? Promise.reject(new ConvoyError('staleEpoch')) : Promise.resolve()),
    },
  });
  await leadWhenElected(deps, never);
}

it("a server's refusal to a replaced leader fails nobody", async () => {
  await lead();
});

it("a server's refusal to the present leader is a failure", async () => {
  isReplaced = false;
  await expect(lead()).rejects.toBe(refusal);
});

describe('an instance that waits for the leadership', () => {
  /** The phase as this process has last read it, and as stored. */
  let seen: MigrationRecord['phase'];
  let stored: MigrationRecord['phase'];
  let leads: boolean;
  let calls: string[];
  let deps: MigrationDependencies;

  const viewOf = (phase: MigrationRecord['phase']): MigrationView => viewWith({ phase, taskIds: [] });

  beforeEach(() => {
    [seen, stored, leads, calls] = ['syncing', 'syncing', false, []];
    const refresh = (): Promise<MigrationView> => {
      seen = stored;
      return Promise.resolve(viewOf(seen));
    };
    const noted =
      <Answer>(call: string, answer: Answer) =>
      (): Promise<Answer> => {
        calls.push(call);
        return Promise.resolve(answer);
      };
    deps = depsWith({
      runtime: { retrying: once, logger: { info: () => undefined }, clock: { sleep: settled } },
      fleet: { isLeader: () => leads, wake: () => undefined },
      watch: {
        get view() {
          return viewOf(seen);
        },
        until: () => Promise.resolve(viewOf(seen)),
        refresh,
      },
      records: {
        takeLeaderEpoch: noted('takeLeaderEpoch', 1),
        read: noted('read', null),
        updateAsLeader: noted('updateAsLeader', undefined),
        confirmLeader: noted('confirmLeader', undefined),
      },
    });
  });

  it('does nothing when the leader leaves after the commit', async () => {
    const ended = leadWhenElected(deps, never);
    await settled();
    seen = stored = 'committed';
    leads = true;
    await ended;
    expect(calls).toEqual([]);
  });

  it.each([
    ['continues with its epoch', 1, ['takeLeaderEpoch']],
    ['takes another one if somebody else has led meanwhile', 2, ['takeLeaderEpoch', 'takeLeaderEpoch']],
  ])(
    'does nothing while its lease has run out until it has its epoch, and %s when it is elected again',
    async (_what, storedEpoch, expected) => {
      leads = true;
      let latest = 0;
      deps.records.takeLeaderEpoch = () => {
        calls.push('takeLeaderEpoch');
        leads = calls.length > 1;
        latest += 1;
        return Promise.resolve(latest);
      };
      let waits = 0;
      deps.runtime.clock.sleep = () => {
        waits += 1;
        latest = storedEpoch;
        leads = true;
        return Promise.resolve();
      };
      deps.watch.refresh = () => {
        // As the leader it has nothing left to do.
        seen = calls.length === expected.length ? 'committed' : 'starting';
        const view = viewOf(seen);
        return Promise.resolve({ ...view, record: { ...view.record, leaderEpoch: latest } });
      };
      await leadWhenElected(deps, never);
      expect(calls).toEqual(expected);
      expect(waits).toBeGreaterThan(0);
    },
  );

  it('changes nothing when it finds, as the leader, that its predecessor has committed', async () => {
    leads = true;
    stored = 'committed';
    await leadWhenElected(deps, never);
    expect(calls).toEqual(['takeLeaderEpoch']);
  });
});

describe('a leader whose migration syncs', () => {
  let stored: { copyDone: boolean; commitRequested: boolean };
  let totals: unknown[];
  let fleet: LoneFleet;
  let stop: AbortController;
  let watching: Promise<unknown>;
  let supervised: Promise<void>;
  let isOver: boolean;
  let copied_bytes: number;

  const rested = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn += 1) await settled();
  };
  /** A wake makes it read what others have stored: the pause ends at once, and no other time passes. */
  const woken = async (set: Partial<typeof stored>): Promise<void> => {
    stored = { ...stored, ...set };
    fleet.wake();
    await rested();
  };

  beforeEach(async () => {
    copied_bytes = 7;
    [stored, totals, fleet, stop, isOver] = [
      { copyDone: false, commitRequested: false },
      [],
      new LoneFleet(),
      new AbortController(),
      false,
    ];
    const clock = {
      monotonic_ms: () => 0,
      sleep: (pause_ms: number, signal: AbortSignal) =>
        pause_ms < 200 ? settled() : untilAborted<undefined>(signal, () => undefined),
    };
    const record = recordWith({ phase: 'syncing', taskIds: ['rs'] });
    const task = (): TaskRecord => taskWith({ _id: 'rs', copied: { bytes: copied_bytes, documents: 1 }, ...stored });
    const updateAsLeader = (_epoch: number, set: object): Promise<void> => {
      Object.assign(record, set);
      return Promise.resolve(void totals.push(set));
    };
    const records = { read: () => Promise.resolve(record), updateAsLeader };
    const read = (): Promise<TaskRecord[]> => Promise.resolve([task()]);
    const initial = { record, tasks: new Map([['rs', task()]]) };
    const watch = new MigrationWatch(
      only<MigrationRecords>(records),
      only<TaskRecords>({ readAll: read, readSome: read }),
      fleet,
      only<Runtime>({ clock: only<Clock>(clock) }),
      initial,
      [],
    );
    watching = watch.run(stop.signal).catch(() => undefined);
    const leading = depsWith({ records: { updateAsLeader }, leaderEpoch: 1 });
    supervised = supervise({ ...leading, watch }, stop.signal).then(() => void (isOver = true));
    await rested();
  });

  afterEach(async () => {
    stop.abort(new Error('the test is over'));
    await Promise.allSettled([watching, supervised]);
  });

  it('sees the command to commit at a wake', async () => {
    await woken({ copyDone: true });
    expect([totals, isOver]).toEqual([[{ estimatedTotalBytes: 7 }], false]);
    await woken({ commitRequested: true });
    expect([totals.length, isOver]).toEqual([1, true]);
  });

  it('keeps the total at the sum of the copied bytes, which changes with collections that come and go', async () => {
    await woken({ copyDone: true });
    copied_bytes = 9;
    await woken({ copyDone: false });
    expect(totals).toEqual([{ estimatedTotalBytes: 7 }]);
    await woken({ copyDone: true });
    copied_bytes = 3;
    await woken({});
    expect(totals).toEqual([{ estimatedTotalBytes: 7 }, { estimatedTotalBytes: 9 }, { estimatedTotalBytes: 3 }]);
  });

  it('leaves the total to the commit when its command comes before everything is copied', async () => {
    await woken({ commitRequested: true });
    expect([totals, isOver]).toEqual([[], true]);
  });
});
