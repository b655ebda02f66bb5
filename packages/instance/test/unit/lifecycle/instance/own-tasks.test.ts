import { expect, it } from 'vitest';
import { Binary } from 'mongodb';
import { keepSessions } from '../../../../src/lifecycle/instance/own-tasks.js';
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
