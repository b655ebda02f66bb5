import type { Collection, MongoClient, Timestamp } from 'mongodb';
import { expect, it } from 'vitest';
import { Board } from '../contract/board-fleet.js';
import { Fixture } from '../contract/fixture.js';
import type { ServedInstance } from '../contract/served-instance.js';
import { startBody } from '../contract/start-conditions.js';
import { type Sent, sentCommands } from '../defaults/sent-commands.js';
import { expectEqualDatabases } from '../kinds/equal-databases.js';
import { loadOrders, replaceOnce } from './replacing-job.js';

const isFull = process.env['CONVOY_TEST_FULL'] === '1';
const documents = 300;
/** Collections that nobody replaces. */
const others = isFull ? 60 : 20;
/** Replacements of one tranche; the first and the last are compared. */
const tranche = isFull ? 5 : 3;
const tranches = isFull ? 6 : 3;

/** The commands that a replacement itself causes, and how many of each at most: a few may be repeated. */
const ofEach = {
  create: 2,
  drop: 2,
  createIndexes: 2,
  insert: 4,
  delete: 10,
  flushRouterConfig: 2,
  'update ddlChanges': 4,
  'update uuids': 2,
  'update partitions': 8,
} as const;
/** Readings of both catalogs for one replacement: each of its events may cause one. */
const readingsMax = 6;
/** Documents and bytes of Convoy's own that a replacement leaves behind, until a cleanup. */
const leftMax = { documents: 5, bytes: 3_000 } as const;
/** What a new process sends, until it is ready, beside what it was after the first replacements. */
const moreToBegin = 2;

interface Row {
  _id: number;
  n: number;
  round: number;
}

/** Waits until the destination has a round of the replaced collection, with its index. */
async function untilThere(copies: Collection<Row>, round: number): Promise<void> {
  await expect.poll(() => copies.countDocuments({ round: { $gte: round } }), { interval: 50 }).toBe(documents);
  await expect.poll(async () => (await copies.indexes()).map(({ name }) => name), { interval: 50 }).toContain('n_1');
}

/** How many commands of each kind there are; those to Convoy's own state by their collection. */
function counted(sent: readonly Sent[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { name, command } of sent) {
    const key = name === 'update' ? `update ${String(command['update'])}` : name;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

/** Convoy's own collections with samples of progress, and with what a comparison has found and looks at again. */
const passing: ReadonlySet<string> = new Set(['history', 'mismatches']);

/** Documents and bytes of Convoy's own state. */
async function stateOf(destination: MongoClient): Promise<{ documents: number; bytes: number }> {
  const own = destination.db('convoy_metadata');
  const names = (await own.listCollections().toArray()).map(({ name }) => name).filter((name) => !passing.has(name));
  const bytes = { $sum: { $bsonSize: '$$ROOT' } };
  const each = await Promise.all(
    names.map((name) =>
      own
        .collection(name)
        .aggregate<{ documents: number; bytes: number }>([{ $group: { _id: null, documents: { $sum: 1 }, bytes } }])
        .toArray(),
    ),
  );
  const sum = (of: 'documents' | 'bytes'): number => each.flat().reduce((total, one) => total + one[of], 0);
  return { documents: sum('documents'), bytes: sum('bytes') };
}

/** Waits until every task has stored that all replacements are done: a new process then has none of them to repeat. */
async function untilStored({ cluster0, cluster1 }: Fixture): Promise<void> {
  const { operationTime } = (await cluster0.client.db('shop').command({ ping: 1 })) as { operationTime: Timestamp };
  const tasks = cluster1.client.db('convoy_metadata').collection<{ checkpoint: Timestamp | null }>('tasks');
  const behind = async (): Promise<number> =>
    (await tasks.find().toArray()).filter(({ checkpoint }) => checkpoint?.lessThan(operationTime) ?? true).length;
  await expect.poll(behind).toBe(0);
}

/** A fleet of two between clusters of two shards. */
class ReplacingFleet {
  readonly sent = sentCommands();
  readonly copies: Collection<Row>;
  readonly #board = new Board();
  #round = 0;

  constructor(
    private readonly fixture: Fixture,
    private readonly shardIds: readonly string[],
  ) {
    this.copies = fixture.cluster1.client.db('shop').collection<Row>('report');
  }

  start(of: 0 | 1): Promise<ServedInstance> {
    return this.fixture.startInstance({ id: this.shardIds[of] }, this.#board.seat());
  }

  /** Replaces the collection several times. @returns the commands for one, and what is left of it */
  async tranche(): Promise<{ calls: Record<string, number>; left: { documents: number; bytes: number } }> {
    const { cluster0, cluster1 } = this.fixture;
    const [from, before] = [this.sent.length, await stateOf(cluster1.client)];
    for (let n = 0; n < tranche; n += 1) {
      this.#round += documents;
      await replaceOnce(cluster0.client, { name: 'report', isUnique: true }, this.#round);
      await untilThere(this.copies, this.#round);
    }
    const after = await stateOf(cluster1.client);
    const calls = Object.entries(counted(this.sent.slice(from))).map(([name, count]) => [name, count / tranche]);
    return {
      calls: Object.fromEntries(calls) as Record<string, number>,
      left: {
        documents: (after.documents - before.documents) / tranche,
        bytes: (after.bytes - before.bytes) / tranche,
      },
    };
  }

  /** Starts an instance anew, until it is ready. @returns it, and how many commands that took beside waiting */
  async startAgain(instance: ServedInstance): Promise<{ again: ServedInstance; calls: number }> {
    await untilStored(this.fixture);
    await instance.close();
    const from = this.sent.length;
    const again = await this.start(1);
    await again.untilCanCommit();
    const waiting = ['getMore', 'ping', 'hello'];
    return { again, calls: this.sent.slice(from).filter(({ name }) => !waiting.includes(name)).length };
  }
}

it('each replacement of a collection costs a fleet the same, however many there were before', async () => {
  await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
  const { client } = fixture.cluster0;
  await fixture.cluster0.shardCollection('shop.orders', { _id: 'hashed' });
  await loadOrders(client, documents);
  for (let n = 0; n < others; n += 1) await client.db('rest').collection(`c${n}`).createIndex({ a: 1 }, {}, {});
  const fleet = new ReplacingFleet(fixture, await fixture.cluster0.shardIds());
  await using first = await fleet.start(0);
  await using second = await fleet.start(1);
  for (const instance of [first, second]) await instance.accepted('start', startBody());
  for (const instance of [first, second]) await instance.untilCanCommit();

  const costs = [await fleet.tranche()];
  const begun = await fleet.startAgain(second);
  while (costs.length < tranches) costs.push(await fleet.tranche());
  const { again, calls } = await fleet.startAgain(begun.again);
  await using last = again;

  for (const { calls: each, left } of costs) {
    const above = Object.entries(ofEach).filter(([name, max]) => (each[name] ?? 0) > max);
    expect(above.map(([name]) => [name, each[name]])).toEqual([]);
    expect(each['listDatabases'] ?? 0).toBeLessThanOrEqual(2 * readingsMax);
    expect(left.documents).toBeLessThanOrEqual(leftMax.documents);
    expect(left.bytes).toBeLessThanOrEqual(leftMax.bytes);
  }
  expect(calls).toBeLessThanOrEqual(begun.calls * moreToBegin);
  // What was found of collections that are gone is not kept.
  const mismatches = fixture.cluster1.client.db('convoy_metadata').collection('mismatches');
  await expect.poll(() => mismatches.countDocuments()).toBe(0);
  await Promise.all([first, last].map((instance) => instance.commitWhenOffered()));
  await expectEqualDatabases(fixture, 'shop');
});
