import { MongoClient } from 'mongodb';
import { startTestCluster } from '@convoy/testbed/cluster/start-test-cluster';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { Closers } from '@convoy/testbed/closers';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
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

  private constructor(
    readonly source: TestCluster,
    readonly destination: TestCluster,
    private readonly sourceClient: MongoClient,
    private readonly destinationClient: MongoClient,
    private readonly closers: Closers,
  ) {}

  static async start(shards: number, folder: ScratchFolder): Promise<EngineClusters> {
    const closers = new Closers();
    try {
      const start = async (name: string): Promise<TestCluster> =>
        closers.use(await startTestCluster({ name: `${name}-${shards}`, topology: { shards }, folder }));
      const [source, destination] = [await start('source'), await start('destination')];
      const clientOf = ({ connectionString }: TestCluster): MongoClient => {
        const client = new MongoClient(connectionString);
        closers.defer(() => client.close());
        return client;
      };
      const clusters = new EngineClusters(source, destination, clientOf(source), clientOf(destination), closers);
      await clusters.#load(shards);
      return clusters;
    } catch (error) {
      await closers[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** From now on users update documents of all shards. */
  startUsers(): void {
    const documents = this.sourceClient.db(benchNamespace.database).collection<{ _id: number }>('documents');
    const count = documentsPerShard * this.source.shardIds.length;
    let step = 0;
    this.#users = setInterval(() => {
      step += 1;
      void documents.updateOne({ _id: (step * 7) % count }, { $set: { step } }).catch(() => undefined);
    }, 1_000 / updatesPerSecond);
    this.closers.defer(() => {
      this.stopUsers();
      return Promise.resolve();
    });
  }

  stopUsers(): void {
    clearInterval(this.#users);
  }

  /** Renames a collection on the source. */
  async rename(): Promise<void> {
    await this.sourceClient.db(benchNamespace.database).renameCollection(renamed.before, renamed.after);
  }

  /** Whether the destination has the collection under its new name. */
  async isRenamed(): Promise<boolean> {
    const found = await this.destinationClient
      .db(benchNamespace.database)
      .listCollections({ name: renamed.after }, { nameOnly: true })
      .toArray();
    return found.length > 0;
  }

  async #load(shards: number): Promise<void> {
    const { database, collection } = benchNamespace;
    const admin = this.sourceClient.db('admin');
    await admin.command({ enableSharding: database });
    await admin.command({ shardCollection: `${database}.${collection}`, key: { _id: 'hashed' } });
    const db = this.sourceClient.db(database);
    for (let shard = 0; shard < shards; shard += 1) {
      const documents = Array.from({ length: documentsPerShard }, (_, at) =>
        benchDocument(shard * documentsPerShard + at),
      );
      await db.collection(collection).insertMany(documents);
    }
    await db.collection(renamed.before).insertOne({ text: 'one' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.closers[Symbol.asyncDispose]();
  }
}
