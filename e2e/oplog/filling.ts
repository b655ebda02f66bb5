import { setTimeout as delay } from 'node:timers/promises';
import type { Collection, MongoClient } from 'mongodb';
import { largeCollection, type Order } from '../data.js';

const round_ms = 100;
const text = 'x'.repeat(10_000);
/** Few documents, far from all others, are replaced again and again: the collection does not grow. */
const firstId = 20_000_000;
const documents = 80;
/** Ten rounds a second: of the two shards, one gets three fifths of the documents. */
const documentsPerRound = 8;
/**
 * Rounds that were missed on a busy machine are made up for, so that the oplog holds no more time than on an idle one.
 * More of them at once would push out entries before anybody could read them.
 */
const roundsAtOnceMax = 10;

/** Writes that push older entries out of the oplogs of all shards, until it is stopped or disposed. */
export class Filling implements AsyncDisposable {
  private isStopping = false;
  private readonly running: Promise<void>;

  constructor(client: MongoClient) {
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
    let written_ms = performance.now() - round_ms;
    for (let count = 0; !this.isStopping;) {
      const now_ms = performance.now();
      const rounds = Math.min((now_ms - written_ms) / round_ms, roundsAtOnceMax);
      written_ms = now_ms;
      const size = Math.round(rounds * documentsPerRound);
      await orders.bulkWrite(
        Array.from({ length: size }, (_, index) => ({
          replaceOne: {
            filter: { _id: firstId + ((count + index) % documents) },
            replacement: { replaced: count, padding: text },
            upsert: true,
          },
        })),
      );
      count += size;
      await delay(Math.max(0, written_ms + round_ms - performance.now()));
    }
  }
}
