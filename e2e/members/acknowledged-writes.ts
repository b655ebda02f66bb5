import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '@convoy/cli/demo/random';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import type { Collection, MongoClient } from 'mongodb';
import { testSeed } from '../../test/seed.js';

/** A document that `AcknowledgedWrites` writes. */
interface Numbered {
  _id: number;
  version: number;
}

const namespace = { database: 'shop', name: 'acknowledged' } as const;
/** Pause between two writes: a steady stream, with capacity left for the migration. */
const pause_ms = 20;
/** An election, and the time that a client needs to find out. */
const moreWithin_ms = 60_000;
/** Of what is wrong no more is described. */
const describedMax = 20;

/**
 * Inserts, changes and deletes documents at majority, one after the other, and keeps what the source acknowledged. It
 * knows by itself what the destination must have: what both clusters lack shows as well.
 */
export class AcknowledgedWrites implements AsyncDisposable {
  /** The version that is acknowledged last of each document; null once it is deleted. */
  readonly #known = new Map<number, number | null>();
  readonly #random = new Random(testSeed);
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #acknowledged = 0;
  #tried = 0;

  private constructor(
    private readonly client: MongoClient,
    private readonly firstId: number,
  ) {
    this.#running = this.#run();
  }

  /**
   * @param client of a user whose writes can be blocked
   * @param firstId of its documents: above those of others that have written before
   */
  static start(client: MongoClient, firstId = 0): AcknowledgedWrites {
    return new AcknowledgedWrites(client, firstId);
  }

  /** How many writes are acknowledged so far. */
  get acknowledged(): number {
    return this.#acknowledged;
  }

  /** How many it has sent so far: others were refused, or not confirmed. */
  get tried(): number {
    return this.#tried;
  }

  /** Waits until more writes are acknowledged than before. */
  async untilMore(): Promise<void> {
    const before = this.#acknowledged;
    await pollUntil('more writes are acknowledged', moreWithin_ms, () => Promise.resolve(this.#acknowledged > before));
  }

  /** What another cluster has otherwise than it was acknowledged, each a few words. */
  async lostOn(client: MongoClient): Promise<string[]> {
    const found = await collectionOf(client)
      .find({}, { readConcern: { level: 'majority' } })
      .toArray();
    const present = new Map(found.map(({ _id, version }) => [_id, version]));
    const wrong: string[] = [];
    for (const [_id, version] of this.#known) {
      const there = present.get(_id) ?? null;
      if (there !== version) wrong.push(`${_id}: version ${there}, acknowledged ${version}`);
    }
    return wrong.slice(0, describedMax);
  }

  /** Ends it once its last write is answered. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #run(): Promise<void> {
    const collection = collectionOf(this.client);
    for (let turn = 1; !this.#stopping.signal.aborted; turn += 1) {
      const [_id, version] = this.#next(turn);
      this.#tried += 1;
      try {
        await write(collection, _id, this.#known.has(_id), version);
        this.#known.set(_id, version);
        this.#acknowledged += 1;
      } catch {
        // Refused by a block, or not confirmed: nobody was promised anything, and it is not touched again.
        this.#known.delete(_id);
      }
      await delay(pause_ms, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    }
  }

  /** A new document in two of three turns; otherwise one that is there is changed or deleted. */
  #next(turn: number): [_id: number, version: number | null] {
    const _id = this.firstId + this.#random.below(turn);
    const isThere = (this.#known.get(_id) ?? null) !== null;
    if (turn % 3 > 0 || !isThere) return [this.firstId + turn, turn];
    return [_id, this.#random.below(3) === 0 ? null : turn];
  }
}

function collectionOf(client: MongoClient): Collection<Numbered> {
  return client.db(namespace.database).collection<Numbered>(namespace.name);
}

/** Brings a document to a version, or deletes it. */
async function write(collection: Collection<Numbered>, _id: number, isThere: boolean, version: number | null) {
  const options = { writeConcern: { w: 'majority' } } as const;
  if (version === null) await collection.deleteOne({ _id }, options);
  else if (isThere) await collection.updateOne({ _id }, { $set: { version } }, options);
  else await collection.insertOne({ _id, version }, options);
}
