import { afterAll, beforeAll, expect, it } from 'vitest';
import { Fixture, type Side } from './fixture.js';
import { startBody } from './start-conditions.js';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
});

afterAll(() => fixture.close());

async function modes(): Promise<unknown[]> {
  const modeOf = async ({ client }: Side) => (await client.db('admin').command({ balancerStatus: 1 })).mode as unknown;
  return [await modeOf(fixture.cluster0), await modeOf(fixture.cluster1)];
}

it('balancers are stopped from before the copy to the commit, and run again afterwards', async () => {
  await fixture.cluster0.client.db('shop').collection('orders').insertOne({ a: 1 });
  for (const { client } of [fixture.cluster0, fixture.cluster1]) await client.db('admin').command({ balancerStart: 1 });
  expect(await modes()).toEqual(['full', 'full']);
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  expect(await modes()).toEqual(['off', 'off']);
  await instance.accepted('commit');
  await instance.untilState('COMMITTED');
  expect(await modes()).toEqual(['full', 'full']);
});
