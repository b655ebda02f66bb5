import { type MongoClient, MongoServerError } from 'mongodb';
import { expect, onTestFinished } from 'vitest';
import type { ContractClient } from '@convoy/api/client/contract-client';
import { Closers } from '@convoy/testbed/closers';
import type { InstanceProcess } from '@convoy/cli/environment/fleet/instance-process';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { beginningSteps, commitSteps, type LeaderStep, reverseSteps } from '@convoy/instance/lifecycle/migration/steps';
import { setTimeout as delay } from 'node:timers/promises';
import { carryBesidesData, expectBesidesData, makeBesidesData, makeLogin } from '../besides-data.js';
import { Clusters, defaultStart, untilCanCommit, untilCommitted, untilTaken } from '../fleet.js';
import { guarded, needs } from '../requirements.js';
import { loadSeries } from '../series-workload.js';
import { measurementOf } from '../soak/series-actions.js';
import { CrashOrders, type Kill } from './crash-orders.js';

const shards = 2;
/** Whether the servers can block users' writes: from 6.0 on. */
const blocks = !needs({ version: [6, 0] }).skip;
/** The highest number of writes of a user. */
const writesMax = 10_000_000;
/** Keeps instances that are killed again and again fast. */
const settings = { partition_seconds: 1, checkpoint_ms: 200 };

interface Fixture {
  clusters: Clusters;
  instances: readonly InstanceProcess[];
  /** Takes the commands. */
  client: ContractClient;
  orders: CrashOrders;
}

type Side = 'source' | 'destination';

/**
 * Migrates two clusters under writes, and kills at the end of each of the given steps; who was killed is started again
 * at once. In the end no acknowledged write is missing, the source is closed and the destination open, and the
 * destination has what the source had besides data. With steps of a reverse among them, the migration is reversed after
 * that, under writes to the destination, and committed back.
 * Servers before 6.0 can neither be closed nor reversed: there the writers stop before the commit, and there are no
 * steps of a reverse.
 * @param isFleet one instance for each shard; otherwise one alone
 */
export async function migrateThroughCrashes(steps: readonly LeaderStep[], kill: Kill, isFleet: boolean): Promise<void> {
  await using closers = new Closers();
  const fixture = await open(closers, isFleet);
  const { clusters, client, instances, orders } = fixture;
  const series = await load(clusters.clients.source);
  await makeBesidesData(clusters.clients.source, clusters.source);
  const writing = closers.use(new Writing(clusters.shoppers.source, documents, series));
  const of = (all: readonly LeaderStep[]): LeaderStep[] => steps.filter((step) => all.includes(step));
  const reversible = blocks && of(reverseSteps).length > 0;
  await crashAt(fixture, of(beginningSteps), kill, () =>
    client.start({
      ...defaultStart,
      carry: carryBesidesData(clusters),
      enableUserWriteBlocking: blocks,
      reversible,
    }),
  );
  await untilCanCommit(client);
  if (blocks) expect(await takesWrites(clusters, 'destination')).toBe(false);
  else writing.stop();
  await crashAt(fixture, of(commitSteps), kill, () => untilTaken(() => client.commit()));
  if (!reversible) orders[Symbol.dispose]();
  for (const instance of instances) await untilCommitted(instance.client);
  await writing.ended;
  await clusters.expectEqual();
  await expectBesidesData(clusters.clients.destination, clusters.destination.shardIds.at(-1));
  if (blocks) await expectOpen(clusters, 'destination');
  expect([await balancerMode(clusters, 'source'), await balancerMode(clusters, 'destination')]).toEqual([
    'full',
    reversible ? 'off' : 'full',
  ]);
  if (reversible) await reverseThroughCrashes(closers, fixture, of(reverseSteps), kill, series);
}

/** The former source gets everything written to the other cluster since, and ends open. */
async function reverseThroughCrashes(
  closers: Closers,
  fixture: Fixture,
  steps: readonly LeaderStep[],
  kill: Kill,
  series: readonly string[],
): Promise<void> {
  const { clusters, instances, client, orders } = fixture;
  const writing = closers.use(new Writing(clusters.shoppers.destination, 2 * writesMax, series));
  await makeLogin(clusters.clients.destination, 'later');
  await crashAt(fixture, steps, kill, () => untilTaken(() => client.reverse()));
  orders[Symbol.dispose]();
  await untilCanCommit(client);
  await expectOpen(clusters, 'destination');
  await untilTaken(() => client.commit());
  for (const instance of instances) await untilCommitted(instance.client);
  await writing.ended;
  await clusters.expectEqual();
  await expectBesidesData(clusters.clients.source, clusters.source.shardIds[0], ['first', 'later']);
  await expectOpen(clusters, 'source');
}

async function open(closers: Closers, isFleet: boolean): Promise<Fixture> {
  const clusters = closers.use(
    await Clusters.start({ source: { shards }, destination: { shards }, ...(blocks && guarded) }),
  );
  const folder = ScratchFolder.create('crash');
  const orders = new CrashOrders(folder.file('order.json'));
  onTestFinished(() => {
    orders[Symbol.dispose]();
    folder[Symbol.dispose]();
  });
  if (!isFleet) {
    const instance = closers.use(await clusters.startLoneInstance(settings));
    return { clusters, instances: [instance], client: instance.client, orders };
  }
  const fleet = closers.use(await clusters.startFleet(settings));
  return { clusters, instances: fleet.instances, client: fleet.coordinator.client, orders };
}

/** Sends the commands that lead to the steps, and kills at each in turn. */
async function crashAt(
  { orders, instances }: Fixture,
  steps: readonly LeaderStep[],
  kill: Kill,
  send: () => Promise<unknown>,
): Promise<void> {
  const [first, ...others] = steps;
  if (first !== undefined) orders.order(first, kill, instances);
  await send();
  for (const [turn, step] of steps.entries()) {
    const gone = await orders.untilDone(step, kill, instances);
    const next = others[turn];
    if (next !== undefined) orders.order(next, kill, instances);
    await Promise.all(gone.map((instance) => restarted(instance, orders)));
  }
}

/** It may come to the next step, and be killed there, before it is ready. */
async function restarted(instance: InstanceProcess, orders: CrashOrders): Promise<void> {
  await instance.restart().catch((error: unknown) => {
    if (!orders.isDone) throw error;
  });
}

/** @returns the names of time series */
async function load(client: MongoClient): Promise<string[]> {
  const shop = client.db('shop');
  await client.db('admin').command({ enableSharding: 'shop' });
  await client.db('admin').command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
  await shop.collection('items').createIndexes([
    { key: { name: 1 }, unique: true },
    { key: { at: 1 }, expireAfterSeconds: 100_000 },
  ]);
  await shop
    .collection<{ _id: number }>('orders')
    .insertMany(Array.from({ length: documents }, (_, _id) => ({ _id, text: 'x'.repeat(100) })));
  await shop
    .collection('items')
    .insertMany(Array.from({ length: documents }, (_, n) => ({ name: `item ${n}`, at: new Date() })));
  return loadSeries(client, 'shop');
}

/** Expects one cluster to accept users' writes, and the other to refuse them. */
async function expectOpen(clusters: Clusters, side: Side): Promise<void> {
  expect([await takesWrites(clusters, 'source'), await takesWrites(clusters, 'destination')]).toEqual([
    side === 'source',
    side === 'destination',
  ]);
}

async function takesWrites({ shoppers }: Clusters, side: Side): Promise<boolean> {
  const probe = shoppers[side].db('shop').collection<{ _id: number }>('orders');
  return probe.insertOne({ _id: -1 }).then(
    async () => (await probe.deleteOne({ _id: -1 })).acknowledged,
    () => false,
  );
}

async function balancerMode({ clients }: Clusters, side: Side): Promise<unknown> {
  return (await clients[side].db('admin').command({ balancerStatus: 1 }))['mode'];
}

/** Documents that exist before, with `_id` from 0. */
const documents = 500;

/** Fast enough for every step of a migration to meet some. */
const pause_ms = 10;
/** A server's answer to a user whose writes are blocked. */
const blockedCode = 371;

/** One user's sequential writes, until a block refuses them or `stop` ends them. */
class Writing implements AsyncDisposable {
  /** @throws any other refusal of a write */
  readonly ended: Promise<void>;
  private isStopped = false;

  /**
   * @param firstId `_id` of its first new document
   * @param series time series that take measurements
   */
  constructor(
    client: MongoClient,
    firstId: number,
    private readonly series: readonly string[],
  ) {
    this.ended = this.write(client, firstId);
    this.ended.catch(() => undefined);
  }

  stop(): void {
    this.isStopped = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    await this.ended.catch(() => undefined);
  }

  private async write(client: MongoClient, firstId: number): Promise<void> {
    const orders = client.db('shop').collection<{ _id: number; n?: number }>('orders');
    try {
      for (let n = 0; !this.isStopped; n += 1) {
        await orders.updateOne({ _id: n % documents }, { $inc: { n: 1 } });
        await orders.insertOne({ _id: firstId + n });
        for (const name of this.series)
          await client
            .db('shop')
            .collection(name)
            .insertOne(measurementOf({ second: n * 7, sensor: n % 8, value: n % 20 }));
        await delay(pause_ms);
      }
    } catch (error) {
      if (!(error instanceof MongoServerError && error.code === blockedCode)) throw error;
    }
  }
}
