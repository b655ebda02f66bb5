import { afterAll, beforeAll, expect, it } from 'vitest';
import { Scene, type Side } from './scene.js';
import { startBody } from './start-conditions.js';

let scene: Scene;

beforeAll(async () => {
  scene = await Scene.open({ shards: 2 }, { shards: 2 });
});

afterAll(() => scene.close());

async function modes(): Promise<unknown[]> {
  const modeOf = async ({ client }: Side) => (await client.db('admin').command({ balancerStatus: 1 })).mode as unknown;
  return [await modeOf(scene.cluster0), await modeOf(scene.cluster1)];
}

it('balancers rest from before the copy to the commit, and run again afterwards', async () => {
  await scene.cluster0.client.db('shop').collection('orders').insertOne({ a: 1 });
  for (const { client } of [scene.cluster0, scene.cluster1]) await client.db('admin').command({ balancerStart: 1 });
  expect(await modes()).toEqual(['full', 'full']);
  await using instance = await scene.startInstance();
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  expect(await modes()).toEqual(['off', 'off']);
  await instance.accepted('commit');
  await instance.untilState('COMMITTED');
  expect(await modes()).toEqual(['full', 'full']);
});
