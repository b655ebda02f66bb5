import type { Progress } from '@convoy/api/contract/progress';
import { type CommandName, commandNames } from '@convoy/api/contract/commands';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { Board } from './board-fleet.js';
import { Fixture } from './fixture.js';
import type { ServedInstance } from './served-instance.js';
import { startBody } from './start-conditions.js';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
});

afterAll(() => fixture.close());

beforeEach(async () => {
  await fixture.cluster0.client
    .db('shop')
    .collection('orders')
    .insertMany([{ n: 1 }, { n: 2 }]);
});

afterEach(() => fixture.clear());

/** Every command but the named ones is refused in the current state, and the state stays. */
async function refusesAllBut(
  instance: ServedInstance,
  state: Progress['state'],
  taken: readonly CommandName[],
): Promise<void> {
  for (const name of commandNames.filter((one) => !taken.includes(one))) {
    const { status, body } = await instance.command(name, name === 'start' ? startBody() : {});
    expect({ name, status, error: body.error as unknown }).toEqual({ name, status: 409, error: 'notInThisState' });
    expect(body.errorDescription).toContain(state);
    expect((await instance.progress()).state).toBe(state);
  }
}

it('takes start alone in IDLE', async () => {
  await using instance = await fixture.startInstance();
  await refusesAllBut(instance, 'IDLE', ['start']);
  expect(await fixture.cluster1.databases()).toEqual([]);
});

it('takes pause and commit in RUNNING, only resume in PAUSED, and reverse in COMMITTED if reversible', async () => {
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await refusesAllBut(instance, 'RUNNING', ['pause', 'commit']);
  await instance.untilCanCommit();
  await instance.accepted('pause');
  await refusesAllBut(instance, 'PAUSED', ['resume']);
  await instance.accepted('resume');
  expect((await instance.progress()).state).toBe('RUNNING');
  await instance.untilCanCommit();
  await instance.accepted('commit');
  await instance.untilState('COMMITTED');
  await refusesAllBut(instance, 'COMMITTED', ['reverse']);
  const reverse = await instance.command('reverse');
  expect(reverse).toMatchObject({ status: 422, body: { success: false, error: 'notReversible' } });
  expect((await instance.progress()).state).toBe('COMMITTED');
});

it('takes commands that follow each other without a pause between them', async () => {
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  for (const name of ['pause', 'resume', 'pause', 'resume'] as const) await instance.accepted(name);
  await instance.untilCanCommit();
  await instance.accepted('commit');
  await instance.untilState('COMMITTED');
  expect(await fixture.cluster1.client.db('shop').collection('orders').countDocuments()).toBe(2);
});

it('refuses commit while canCommit is false', async () => {
  await using instance = await fixture.startInstance({ id: 'shard0' });
  await instance.accepted('start', startBody());
  const { status, body } = await instance.command('commit');
  expect({ status, error: body.error as unknown }).toEqual({ status: 409, error: 'cannotCommit' });
  expect(await instance.progress()).toMatchObject({ state: 'RUNNING', canCommit: false });
});

it('has a coordinatorID once a leader is elected, and null before', async () => {
  const board = new Board();
  board.hasLeader = false;
  await using instance = await fixture.startInstance({ id: 'shard0' }, board.seat());
  await instance.accepted('start', startBody());
  expect(await instance.progress()).toMatchObject({ state: 'RUNNING', syncID: 'shard0', coordinatorID: null });
  board.hasLeader = true;
  expect(await instance.progress()).toMatchObject({ syncID: 'shard0', coordinatorID: 'shard0' });
});

it('is COMMITTING until the whole fleet has the commit, and COMMITTED then on every instance', async () => {
  const board = new Board();
  await using first = await fixture.startInstance({ id: 'shard0' }, board.seat());
  await using second = await fixture.startInstance({ id: 'shard1' }, board.seat());
  for (const instance of [first, second]) await instance.accepted('start', startBody());
  await Promise.all([first.untilCanCommit(), second.untilCanCommit()]);
  const own = await Promise.all([first.progress(), second.progress()]);
  expect(own.map(({ syncID, coordinatorID }) => ({ syncID, coordinatorID }))).toEqual([
    { syncID: 'shard0', coordinatorID: 'shard0' },
    { syncID: 'shard1', coordinatorID: 'shard0' },
  ]);

  await second.accepted('commit');
  const waiting = await second.untilState('COMMITTING');
  expect(waiting).toMatchObject({ info: 'waiting for commit to complete', canCommit: false, canWrite: false });
  await refusesAllBut(second, 'COMMITTING', []);
  expect(await first.progress()).toMatchObject({ state: 'RUNNING', canWrite: false });
  await first.accepted('commit');
  const ends = await Promise.all([first.untilState('COMMITTED'), second.untilState('COMMITTED')]);
  for (const end of ends) expect(end).toMatchObject({ info: 'commit completed', lagTimeSeconds: 0, canWrite: true });
  const copied = ends.reduce((sum, end) => sum + (end.collectionCopy?.estimatedCopiedBytes ?? 0), 0);
  expect(ends.map((end) => end.collectionCopy?.estimatedTotalBytes)).toEqual([copied, copied]);
});
