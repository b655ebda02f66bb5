import { setTimeout as delay } from 'node:timers/promises';
import { type MongoClient, MongoServerError } from 'mongodb';

/** Documents that exist before, with `_id` from 0. */
export const documents = 500;

/** Fast enough for every step of a migration to meet some. */
const pause_ms = 10;
/** A server's answer to a user whose writes are blocked. */
const blockedCode = 371;

/** One user's sequential writes, until a block refuses them or `stop` ends them. */
export class Writing implements AsyncDisposable {
  /** @throws any other refusal of a write */
  readonly ended: Promise<void>;
  private isStopped = false;

  /** @param firstId `_id` of its first new document */
  constructor(client: MongoClient, firstId: number) {
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
        await delay(pause_ms);
      }
    } catch (error) {
      if (!(error instanceof MongoServerError && error.code === blockedCode)) throw error;
    }
  }
}
