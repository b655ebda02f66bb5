import { setTimeout as delay } from 'node:timers/promises';
import type { AnyBulkWriteOperation, MongoClient } from 'mongodb';
import { Random } from '@convoy/cli/demo/random';
import { isFullRun, testSeed } from '../test/seed.js';
import { largeCollection, order, type Order } from './data.js';

/** Pause between two rounds: a steady stream of changes, with capacity left for the migration and for other tests. */
const pause_ms = isFullRun ? 100 : 200;
const operationsPerRound = 20;
/** New documents get `_id`s from here, far from those that were loaded and those of another workload before. */
const firstNewId = 10_000_000;
/** A few documents that nearly every round touches. */
const hotDocuments = 5;

/** Changes of every kind on the large collection, and some on the others, until it is stopped or disposed. */
export class Workload implements AsyncDisposable {
  operations = 0;
  private readonly stopping = new AbortController();
  private readonly random: Random;
  private readonly running: Promise<void>;
  private readonly firstId: number;
  private nextId: number;

  private constructor(
    private readonly client: MongoClient,
    private readonly loaded: number,
    seed: number,
    turn: number,
  ) {
    this.firstId = firstNewId * (1 + turn);
    this.nextId = this.firstId;
    this.random = new Random(seed);
    this.running = this.run();
    this.running.catch(() => undefined);
  }

  /**
   * @param loaded documents of the large collection, with `_id` from 0
   * @param turn how many workloads have written the same documents before
   */
  static start(client: MongoClient, loaded: number, turn = 0): Workload {
    return new Workload(client, loaded, testSeed, turn);
  }

  /**
   * Ends it once every write is answered.
   * @throws what made it end by itself
   */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /**
   * Ends when it is stopped.
   * @throws what the server refuses its writes with, from when it does
   */
  get ended(): Promise<void> {
    return this.running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stopping.abort();
    await this.running.catch(() => undefined);
  }

  private async run(): Promise<void> {
    const database = this.client.db(largeCollection.database);
    const orders = database.collection<Order>(largeCollection.name);
    for (let round = 0; !this.stopping.signal.aborted; round += 1) {
      await orders.bulkWrite(
        Array.from({ length: operationsPerRound }, () => this.operation()),
        { ordered: this.random.next() < 0.5 },
      );
      await orders.updateOne(
        { _id: this.random.below(hotDocuments) },
        { $inc: { version: 1 }, $push: { lines: { $each: [{ article: round, count: 2 }], $slice: -4 } } },
      );
      await database.collection('log').insertOne({ line: 1_000 + round });
      await database
        .collection('customers')
        .updateMany({ region: 'south', number: this.random.below(700) }, { $set: { seen: round } });
      await database
        .collection('mixed')
        .updateOne({ number: this.random.below(10) }, [{ $set: { 'deep.value': round, copy: '$number' } }]);
      this.operations += operationsPerRound + 4;
      await delay(pause_ms, undefined, { signal: this.stopping.signal }).catch(() => undefined);
    }
  }

  private operation(): AnyBulkWriteOperation<Order> {
    const inserted = this.nextId - this.firstId;
    const id =
      inserted > 0 && this.random.next() < 0.2
        ? this.firstId + this.random.below(inserted)
        : this.random.below(this.loaded);
    const dice = this.random.below(8);
    if (dice <= 1) return { insertOne: { document: order(this.nextId++) } };
    if (dice === 2) return { deleteOne: { filter: { _id: id } } };
    if (dice === 3)
      return {
        replaceOne: {
          filter: { _id: id },
          replacement: { ...order(id), replaced: this.random.below(100) },
          upsert: true,
        },
      };
    // Only where there is an array: in its absence the path would make an object, which nothing can be pushed to.
    if (dice === 4)
      return {
        updateOne: {
          filter: { _id: id, 'lines.0': { $exists: true } },
          update: { $unset: { padding: '' }, $set: { 'lines.0.count': this.random.below(9) } },
        },
      };
    if (dice === 5)
      return {
        updateOne: { filter: { _id: id }, update: { $push: { lines: { article: 1, count: this.random.below(9) } } } },
      };
    if (dice === 6)
      return {
        updateOne: { filter: { _id: id }, update: [{ $set: { total: { $add: ['$total', 1] }, tag: 'pipeline' } }] },
      };
    return { updateOne: { filter: { _id: id }, update: { $inc: { version: 1 } }, upsert: true } };
  }
}
