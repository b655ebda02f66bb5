import type { MongoClient } from 'mongodb';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { BenchClusters } from '../copy/bench-clusters.js';
import { benchDocument, benchNamespace } from '../copy/bench-documents.js';

/** Each shard has a little: the fleet is measured, not the copy. */
const documentsPerShard = 100;
/** Users change this many documents a second, whatever the number of shards. */
const updatesPerSecond = 40;
/** An unsharded collection that the benchmark renames. */
const renamed = { before: 'renamed', after: 'renamed_once' } as const;

/** Two clusters with as many shards as the fleet has instances, and users who write a little. */
export class EngineClusters implements AsyncDisposable {
  #users: NodeJS.Timeout | undefined;

  private constructor(private readonly clusters: BenchClusters) {}

  static async start(shards: number, folder: ScratchFolder): Promise<EngineClusters> {
    const clusters = await BenchClusters.start(folder, 'sharded', { size: shards });
    try {
      await load(clusters.sourceClient, shards);
      return new EngineClusters(clusters);
    } catch (error) {
      await clusters[Symbol.asyncDispose]();
      throw error;
    }
  }

  get source(): TestCluster {
    return this.clusters.source;
  }

  get destination(): TestCluster {
    return this.clusters.destination;
  }

  /** From now on users update documents of all shards. */
  startUsers(): void {
    const documents = this.clusters.sourceClient.db(benchNamespace.database).collection<{ _id: number }>('documents');
    const count = documentsPerShard * this.source.shardIds.length;
    let step = 0;
    this.#users = setInterval(() => {
      step += 1;
      void documents.updateOne({ _id: (step * 7) % count }, { $set: { step } }).catch(() => undefined);
    }, 1_000 / updatesPerSecond);
  }

  stopUsers(): void {
    clearInterval(this.#users);
  }

  /** Renames a collection on the source. */
  async rename(): Promise<void> {
    await this.clusters.sourceClient.db(benchNamespace.database).renameCollection(renamed.before, renamed.after);
  }

  /** Whether the destination has the collection under its new name. */
  async isRenamed(): Promise<boolean> {
    const found = await this.clusters.destinationClient
      .db(benchNamespace.database)
      .listCollections({ name: renamed.after }, { nameOnly: true })
      .toArray();
    return found.length > 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stopUsers();
    await this.clusters[Symbol.asyncDispose]();
  }
}

async function load(client: MongoClient, shards: number): Promise<void> {
  const { database, collection } = benchNamespace;
  const admin = client.db('admin');
  await admin.command({ enableSharding: database });
  await admin.command({ shardCollection: `${database}.${collection}`, key: { _id: 'hashed' } });
  const db = client.db(database);
  for (let shard = 0; shard < shards; shard += 1) {
    const documents = Array.from({ length: documentsPerShard }, (_, at) =>
      benchDocument(shard * documentsPerShard + at),
    );
    await db.collection(collection).insertMany(documents);
  }
  await db.collection(renamed.before).insertOne({ text: 'one' });
}
