import { type Document, MongoClient, type MongoClientOptions } from 'mongodb';
import { type Cluster, type ClusterOptions, startWholeCluster } from '../../../src/cluster/cluster.js';

/** A cluster of two shards under the official driver. */
export class DrivenCluster implements AsyncDisposable {
  readonly #clients: MongoClient[] = [];

  private constructor(readonly cluster: Cluster) {}

  static async start(options: Partial<ClusterOptions> = {}): Promise<DrivenCluster> {
    return new DrivenCluster(await startWholeCluster({ shards: 2, noopIntervalMs: 50, ...options }));
  }

  /** A client that is closed with the cluster. */
  async connect(options: MongoClientOptions = {}, uri = this.cluster.connectionString): Promise<MongoClient> {
    const client = new MongoClient(uri, options);
    this.#clients.push(client);
    return client.connect();
  }

  /** Shards a collection by `k`, with keys below 0 on shard0 and others on shard1. */
  async shard(client: MongoClient, db: string, coll: string): Promise<void> {
    const admin = client.db('admin');
    await admin.command({ enableSharding: db, primaryShard: 'shard0' });
    await admin.command({ shardCollection: `${db}.${coll}`, key: { k: 1 } });
    await admin.command({ split: `${db}.${coll}`, middle: { k: 0 } });
    await admin.command({ moveChunk: `${db}.${coll}`, find: { k: 0 }, to: 'shard1', _waitForDelete: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
    await this.cluster.close();
  }
}

/** Sets the fail point by which a node fails, delays or cuts off chosen commands; `data` says which and how. */
export async function failCommand(client: MongoClient, mode: Document | string, data: Document): Promise<void> {
  await client.db('admin').command({ configureFailPoint: 'failCommand', mode, data });
}
