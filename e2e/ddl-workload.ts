import type { Db, MongoClient } from 'mongodb';
import { Random } from '@convoy/cli/demo/random';

interface Item {
  _id: number;
  value: number;
}

const names = ['a', 'b', 'c', 'd', 'e', 'f'] as const;
const documentsMax = 200;
/** Between two writes, unless it is given; every tenth comes with a DDL change. */
const pauseDefault_ms = 10;

/** Refusals of a change that is not possible now: its object is missing, exists already, or is changing. */
const expectedCodes = new Set<unknown>([
  26, 27, 48, 85, 86, 68, 10107, 117, 5_807_601, 166, 20, 215, 13_388, 72, 73, 12_587, 175, 11_000, 276, 43, 237,
  28_769,
]);

/** A client that creates, drops, renames, shards and changes collections at random while it writes to them. */
export class DdlWorkload implements AsyncDisposable {
  readonly #db: Db;
  readonly #random: Random;
  readonly #done: Promise<void>;
  #stopped = false;
  /** Executed DDL changes. */
  changes = 0;
  /** Writes and changes that were tried. */
  operations = 0;

  private constructor(
    private readonly client: MongoClient,
    readonly seed: number,
    private readonly pause_ms: number,
  ) {
    this.#db = client.db('moving');
    this.#random = new Random(seed);
    this.#done = this.#run();
    this.#done.catch(() => undefined);
  }

  static start(client: MongoClient, seed: number, pause_ms = pauseDefault_ms): DdlWorkload {
    return new DdlWorkload(client, seed, pause_ms);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#done;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #run(): Promise<void> {
    for (let step = 0; !this.#stopped; step += 1) {
      await this.#tried(() => this.#write());
      if (step % 10 === 0 && (await this.#tried(() => this.#change()))) this.changes += 1;
      this.operations += 1;
      await new Promise((resolve) => setTimeout(resolve, this.pause_ms));
    }
  }

  async #tried(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (!expectedCodes.has(codeOf(error))) throw error;
      return false;
    }
  }

  async #write(): Promise<void> {
    const collection = this.#db.collection<Item>(this.#random.pick(names));
    const _id = this.#random.below(documentsMax);
    const value = this.#random.below(1_000_000);
    const kind = this.#random.below(4);
    if (kind === 0) await collection.deleteOne({ _id });
    else if (kind === 1) await collection.insertMany([{ _id: documentsMax + value, value }]);
    else await collection.updateOne({ _id }, { $set: { value, [`f${value % 5}`]: value } }, { upsert: true });
  }

  async #change(): Promise<void> {
    const name = this.#random.pick(names);
    const collection = this.#db.collection<Item>(name);
    switch (this.#random.below(9)) {
      case 0:
        await collection.drop();
        break;
      case 1:
        await collection.rename(this.#random.pick(names));
        break;
      case 2:
        await collection.rename(this.#random.pick(names), { dropTarget: true });
        break;
      case 3:
        await this.#db.createCollection(name);
        break;
      case 4:
        await this.client.db('admin').command({ shardCollection: `moving.${name}`, key: { _id: 'hashed' } });
        break;
      case 5:
        await collection.aggregate([{ $limit: 50 }, { $out: this.#random.pick(names) }]).toArray();
        break;
      case 6:
        await collection.createIndexes([{ key: { value: 1 }, name: 'value_1' }]);
        break;
      case 7:
        await collection.dropIndex('value_1');
        break;
      default:
        await this.#db.command({ collMod: name, validator: { value: { $exists: true } }, validationAction: 'warn' });
    }
  }
}

/**
 * The driver takes IllegalOperation (20), as a server answers to a rename of a collection to itself, for one without
 * retryable writes, and wraps it.
 */
function codeOf(error: unknown): unknown {
  const { code, originalError } = error as { code?: unknown; originalError?: { code?: unknown } };
  return code ?? originalError?.code;
}
