import { setTimeout as delay } from 'node:timers/promises';
import type { Collection, MongoClient } from 'mongodb';
import { Random } from '@convoy/cli/demo/random';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { isFullRun } from '../requirements.js';

/** The database of its collections. */
export const movingDatabase = 'moving';
/** Sharded by `place`, by the hash of `_id`, and not at all. */
const names = ['placed', 'hashed', 'whole'] as const;
const padding = 'x'.repeat(150);
const batchDocuments = 4_000;
/**
 * Half of the changes hit these few documents, so that one is deleted, inserted and moved many times during one
 * partition.
 */
const hotDocuments = 200;
/**
 * Between two changes of a collection, with capacity left for the migration. A full run makes hundreds a second, which
 * a usual one has no need for: one partition meets the hot documents many times in both.
 */
const pause_ms = isFullRun ? 2 : 8;
/** The first chunk ends here. */
const middle = 500;

/** A document; `place`, 0 to 999, decides its shard. */
interface Placed {
  _id: number;
  place: number;
  version: number;
  steps: number[];
  padding: string;
}

function placed(_id: number, place: number, version: number): Placed {
  return { _id, place, version, steps: [], padding };
}

/**
 * Deletes documents, inserts the same `_id`s again (often on another shard), moves shard keys between shards and pushes
 * into arrays, never two documents under one `_id` at a time, until it is stopped or disposed. A copy meets all of it.
 */
export class MovingWorkload implements AsyncDisposable {
  operations = 0;
  private stopping = false;
  private readonly gone = new Map<string, Set<number>>();
  private readonly running: Promise<void>;

  private constructor(
    private readonly client: MongoClient,
    private readonly documents: number,
    private readonly random: Random,
  ) {
    this.running = Promise.all(names.map((name) => this.run(name))).then(() => undefined);
    this.running.catch(() => undefined);
  }

  /** Makes the collections with documents under `_id`s from 0, one chunk on each of two shards. */
  static async load(client: MongoClient, cluster: TestCluster, documents: number): Promise<void> {
    const admin = client.db('admin');
    const [first = '', second = ''] = cluster.shardIds;
    await admin.command({ balancerStop: 1 });
    await admin.command({ enableSharding: movingDatabase, primaryShard: first });
    await admin.command({ shardCollection: `${movingDatabase}.hashed`, key: { _id: 'hashed' } });
    await admin.command({ shardCollection: `${movingDatabase}.placed`, key: { place: 1 } });
    await admin.command({ split: `${movingDatabase}.placed`, middle: { place: middle } });
    await admin.command({ moveChunk: `${movingDatabase}.placed`, find: { place: middle }, to: second });
    for (const name of names) {
      for (let from = 0; from < documents; from += batchDocuments) {
        const batch = Array.from({ length: Math.min(batchDocuments, documents - from) }, (_, n) =>
          placed(from + n, (from + n) % 1_000, 0),
        );
        await client.db(movingDatabase).collection<Placed>(name).insertMany(batch, { ordered: false });
      }
    }
  }

  static start(client: MongoClient, documents: number, random: Random): MovingWorkload {
    return new MovingWorkload(client, documents, random);
  }

  /**
   * Ends it once every write is answered.
   * @throws what made it end by itself
   */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stopping = true;
    await this.running.catch(() => undefined);
  }

  private async run(name: string): Promise<void> {
    const collection = this.client.db(movingDatabase).collection<Placed>(name);
    this.gone.set(name, new Set());
    while (!this.stopping) {
      await this.change(collection);
      this.operations += 1;
      await delay(pause_ms);
    }
  }

  private async change(collection: Collection<Placed>): Promise<void> {
    const id = this.random.below(this.random.next() < 0.5 ? hotDocuments : this.documents);
    const place = this.random.below(1_000);
    const gone = this.gone.get(collection.collectionName) ?? new Set();
    if (gone.has(id)) {
      await collection.insertOne(placed(id, place, this.operations));
      gone.delete(id);
      return;
    }
    const dice = this.random.below(5);
    if (dice === 0 || dice === 1) {
      await collection.deleteOne({ _id: id });
      gone.add(id);
    } else if (dice === 2) await this.move(collection, id, place);
    else if (dice === 3)
      await collection.updateOne({ _id: id }, { $push: { steps: { $each: [this.operations], $slice: -5 } } });
    else await collection.updateOne({ _id: id }, [{ $set: { version: { $add: ['$version', 1] } } }]);
  }

  /** A change of the shard key names the whole old key. */
  private async move(collection: Collection<Placed>, id: number, place: number): Promise<void> {
    const found = await collection.findOne({ _id: id }, { projection: { place: 1 } });
    if (found === null) throw new Error(`${collection.collectionName} has lost ${id}.`);
    await collection.updateOne({ _id: id, place: found.place }, { $set: { place, version: this.operations } });
  }
}
