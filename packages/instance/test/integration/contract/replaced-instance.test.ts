import { expect, it } from 'vitest';
import { Board } from './board-fleet.js';
import { Fixture } from './fixture.js';
import { startBody } from './start-conditions.js';

it('a process whose sync task was taken over leaves its fleet, even if its successor is silent', async () => {
  await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
  await fixture.cluster0.client
    .db('shop')
    .collection('orders')
    .insertMany(Array.from({ length: 50 }, (_, n) => ({ n })));
  const board = new Board();
  await using former = await fixture.startInstance({ id: 'shard0' }, board.seat());
  await using peer = await fixture.startInstance({ id: 'shard1' }, board.seat());
  for (const instance of [former, peer]) await instance.accepted('start', startBody());
  await former.untilCanCommit();
  const [formerMember] = board.members;

  await using successor = await fixture.startInstance({ id: 'shard0' }, board.seat());
  await fixture.cluster0.client.db('shop').collection('orders').insertOne({ n: -1 });
  await expect.poll(async () => (await former.progressReply()).body.error as unknown).toBe('staleEpoch');
  await expect.poll(() => board.members.includes(formerMember as (typeof board.members)[number])).toBe(false);
  expect(board.members.map(({ id }) => id)).toEqual(['shard1', 'shard0']);
  expect((await successor.progressReply()).body.success).toBe(true);
});

it('a process whose sync task was taken over ends before the copy, too, while it waits for its peers', async () => {
  await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
  const board = new Board();
  await using former = await fixture.startInstance({ id: 'shard0' }, board.seat());
  await former.accepted('start', startBody());
  await using successor = await fixture.startInstance({ id: 'shard0' }, board.seat());
  await expect.poll(async () => (await former.progressReply()).body.error as unknown).toBe('staleEpoch');
  await expect.poll(() => board.members.length).toBe(1);
  expect(await successor.progress()).toMatchObject({ state: 'RUNNING', info: 'initializing' });
});
