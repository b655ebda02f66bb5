import { LoneFleet } from '@convoy/api/fleet/lone-fleet';
import { describe, expect, it } from 'vitest';
import { Binary } from 'mongodb';
import { only } from '../../../../../../test/only.js';
import { keepSessions, OwnTasks } from '../../../../src/lifecycle/instance/own-tasks.js';
import type { MigrationWatch } from '../../../../src/store/migration-watch.js';
import type { TaskRecord, TaskRecords } from '../../../../src/store/task-record.js';
import { fakeCluster, FakeNodeClient } from '../../fake-node-client.js';
import { depsWith } from '../../model/deps-with.js';
import { recordWith, taskWith } from '../../model/migration-state.js';
import { never, once } from '../../model/parts.js';

it('the sessions of all tasks are refreshed until the commit, whoever owns them', async () => {
  const sessions = ['a', 'b'].map((id) => new Binary(Buffer.from(id)));
  const tasks = new Map(sessions.map((session, index) => [String(index), taskWith({ sessions: [session] })]));
  const record = recordWith({ phase: 'syncing' });
  const router = new FakeNodeClient('destination', { refreshSessions: () => ({ ok: 1 }) });
  const sleep = (): Promise<void> => {
    if (router.sent.length === 1) record.phase = 'committed';
    return Promise.resolve();
  };
  await keepSessions(
    depsWith({
      runtime: { clock: { sleep }, retrying: once },
      destination: fakeCluster({ router }),
      watch: { view: { record, tasks } },
    }),
    never,
  );
  expect(router.sent.map(({ command }) => command.refreshSessions as unknown)).toEqual([
    sessions.map((id) => ({ id })),
    sessions.map((id) => ({ id })),
  ]);
});

describe('a task', () => {
  const owner = { syncID: 'sync', incarnation: 'own' };
  /** How often it is taken when its process begins to work, and begins again. */
  async function takes(before: Partial<TaskRecord>): Promise<[first: number, again: number]> {
    let taken = 0;
    const tasks = new Map([['a', taskWith({ _id: 'a', ...before })]]);
    const view = { record: recordWith({ firstEpoch: 100 }), tasks };
    const watch = { view, refresh: () => Promise.resolve(view) };
    const take = () => {
      taken += 1;
      return Promise.resolve(taskWith({ _id: 'a', epoch: 200, owner }));
    };
    const own = new OwnTasks(['a'], owner, only<TaskRecords>({ take }), only<MigrationWatch>(watch), new LoneFleet());
    await own.take(1, never);
    const first = taken;
    await own.take(1, never);
    return [first, taken - first];
  }

  it('that this process has just made is its own, until it begins again', async () => {
    expect(await takes({ epoch: 101, owner })).toEqual([0, 1]);
  });

  it.each([
    ['another process has made it', { epoch: 101, owner: { syncID: 'sync', incarnation: 'other' } }],
    ['it had an owner before', { epoch: 102, owner }],
    ['it was never owned', { epoch: 100, owner }],
  ])('is taken from its owner: %s', async (_what, before) => {
    expect(await takes(before)).toEqual([1, 1]);
  });
});
