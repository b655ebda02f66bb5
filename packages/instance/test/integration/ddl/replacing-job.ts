import { setTimeout as delay } from 'node:timers/promises';
import type { MongoClient } from 'mongodb';

/** Options of a job. */
interface JobOptions {
  /** The collection of `shop` that it replaces. */
  name: string;
  isUnique: boolean;
  pause_ms: number;
}

/** Fills the collection that jobs read. */
export async function loadOrders(client: MongoClient, count: number): Promise<void> {
  const orders = client.db('shop').collection<{ _id: number; n: number }>('orders');
  await orders.insertMany(Array.from({ length: count }, (_, _id) => ({ _id, n: _id })));
}

/** Replaces a collection of `shop` by the orders, each with the number of the round. */
export async function replaceOnce(
  client: MongoClient,
  { name, isUnique }: Pick<JobOptions, 'name' | 'isUnique'>,
  round: number,
): Promise<void> {
  const shop = client.db('shop');
  const made = { $add: ['$n', round] };
  await shop
    .collection('orders')
    .aggregate([{ $project: { n: 1, round: made } }, { $out: name }])
    .toArray();
  if (isUnique) await shop.collection(name).createIndex({ n: 1 }, { unique: true, name: 'n_1' }, {});
}

/** A job that replaces a collection again and again until it is stopped. */
export class ReplacingJob implements AsyncDisposable {
  rounds = 0;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;

  constructor(
    client: MongoClient,
    private readonly options: JobOptions,
  ) {
    this.#running = this.#run(client);
    this.#running.catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#running.catch(() => undefined);
  }

  async #run(client: MongoClient): Promise<void> {
    for (; !this.#stopping.signal.aborted; this.rounds += 1) {
      await replaceOnce(client, this.options, this.rounds);
      await delay(this.options.pause_ms, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    }
  }
}
