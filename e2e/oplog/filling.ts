import { setTimeout as delay } from 'node:timers/promises';
import type { Collection, MongoClient } from 'mongodb';
import { largeCollection, type Order } from '../data.js';

const round_ms = 100;
const text = 'x'.repeat(10_000);
/** Few documents, far from all others, are replaced again and again: the collection does not grow. */
const firstId = 20_000_000;
const documents = 80;

/** Writes that push older entries out of the oplogs of all shards, until it is stopped or disposed. */
export class Filling implements AsyncDisposable {
  private isStopping = false;
  private readonly running: Promise<void>;

  /** @param documentsPerRound of 10 KB, ten rounds a second at most; half of them for each of two shards */
  constructor(
    client: MongoClient,
    private readonly documentsPerRound: number,
  ) {
    this.running = this.run(client.db(largeCollection.database).collection<Order>(largeCollection.name));
    this.running.catch(() => undefined);
  }

  /**
   * Ends it once every write is answered.
   * @throws what made it end by itself
   */
  async stop(): Promise<void> {
    this.isStopping = true;
    await this.running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isStopping = true;
    await this.running.catch(() => undefined);
  }

  private async run(orders: Collection<Order>): Promise<void> {
    const { documentsPerRound } = this;
    let next_ms = performance.now();
    for (let count = 0; !this.isStopping; count += documentsPerRound) {
      const round = Array.from({ length: documentsPerRound }, (_, index) => ({
        _id: firstId + ((count + index) % documents),
        replaced: count,
      }));
      await orders.bulkWrite(
        round.map(({ _id, replaced }) => ({
          replaceOne: { filter: { _id }, replacement: { replaced, padding: text }, upsert: true },
        })),
      );
      // It never makes up for missed writes: all at once they would push out entries before anybody could read them.
      next_ms = Math.max(next_ms + round_ms, performance.now());
      await delay(Math.max(0, next_ms - performance.now()));
    }
  }
}
