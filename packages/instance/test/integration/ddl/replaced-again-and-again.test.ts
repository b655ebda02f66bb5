import { expect, it } from 'vitest';
import { Board } from '../contract/board-fleet.js';
import { Fixture, type Shape } from '../contract/fixture.js';
import type { ServedInstance } from '../contract/served-instance.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from '../kinds/equal-databases.js';
import { loadOrders, ReplacingJob } from './replacing-job.js';

const isFull = process.env['CONVOY_TEST_FULL'] === '1';
/** As jobs that make reports anew do, but more often. */
const busyPause_ms = 150;
const roundsMin = isFull ? 40 : 6;
const documents = 300;
/** Two jobs write three thousand documents in every second. */
const steady = { pause_ms: 1_000, documents: 1_500, roundsMin: isFull ? 120 : 10 } as const;

it('collections that jobs replace again and again are named while they keep a commit away, and arrive', async () => {
  await using fixture = await Fixture.open('replicaSet', 'replicaSet');
  const { client } = fixture.cluster0;
  await loadOrders(client, documents);
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  await using plain = new ReplacingJob(client, { name: 'report', isUnique: false, pause_ms: busyPause_ms });
  await using unique = new ReplacingJob(client, { name: 'ranking', isUnique: true, pause_ms: busyPause_ms });
  const blockers = new Set<string>();
  await instance.until('the jobs have replaced their collections often, beside offers of a commit', (progress) => {
    for (const { reason, description } of progress.commitBlockers ?? []) blockers.add(`${reason}: ${description}`);
    return plain.rounds > roundsMin && unique.rounds > roundsMin;
  });
  await plain.stop();
  await unique.stop();
  // Whoever is told that something is copied is told what.
  const copying = [...blockers].filter((text) => text.startsWith('copying: '));
  expect(copying.filter((text) => !/shop\.(report|ranking)/.test(text))).toEqual([]);
  await instance.untilCanCommit();
  await instance.commitWhenOffered();
  await expectEqualDatabases(fixture, 'shop');
});

/** One instance, or one for each shard of the source. */
async function startInstances(
  fixture: Fixture,
  stack: AsyncDisposableStack,
  shape: Shape,
): Promise<[ServedInstance, ...ServedInstance[]]> {
  if (shape === 'replicaSet') return [stack.use(await fixture.startInstance())];
  const board = new Board();
  const started: ServedInstance[] = [];
  for (const id of await fixture.cluster0.shardIds())
    started.push(stack.use(await fixture.startInstance({ id }, board.seat())));
  return started as [ServedInstance, ...ServedInstance[]];
}

it.each<Shape>(['replicaSet', { shards: 2 }])(
  'a commit is offered beside jobs that replace collections every second, or they are named: %j',
  async (shape) => {
    await using fixture = await Fixture.open(shape, shape);
    const { client } = fixture.cluster0;
    if (shape !== 'replicaSet') await fixture.cluster0.shardCollection('shop.orders', { _id: 'hashed' });
    await loadOrders(client, steady.documents);
    await using stack = new AsyncDisposableStack();
    const instances = await startInstances(fixture, stack, shape);
    await Promise.all(instances.map((instance) => instance.accepted('start', startBody())));
    await Promise.all(instances.map((instance) => instance.untilCanCommit()));
    const { pause_ms } = steady;
    await using plain = new ReplacingJob(client, { name: 'report', isUnique: false, pause_ms });
    await using unique = new ReplacingJob(client, { name: 'ranking', isUnique: true, pause_ms });
    const unnamed: unknown[] = [];
    let offers = 0;
    await instances[0].until('the jobs have replaced their collections often', (progress) => {
      const { canCommit, commitBlockers, warnings, waitingFor } = progress;
      const reasons = JSON.stringify([commitBlockers, warnings]);
      if (canCommit) offers += 1;
      else if (!/shop\.(report|ranking)/.test(reasons)) unnamed.push([commitBlockers, warnings, waitingFor]);
      return plain.rounds > steady.roundsMin && unique.rounds > steady.roundsMin;
    });
    expect(unnamed).toEqual([]);
    expect(offers).toBeGreaterThan(0);
    await plain.stop();
    await unique.stop();
    await Promise.all(instances.map((instance) => instance.commitWhenOffered()));
    await expectEqualDatabases(fixture, 'shop');
  },
);
