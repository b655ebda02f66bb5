import { MongoClient } from 'mongodb';
import { startTestCluster } from '@convoy/testbed/cluster/start-test-cluster';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { Closers } from '@convoy/testbed/closers';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';

/** Databases of the servers. */
const ownDatabases: ReadonlySet<string> = new Set(['admin', 'config', 'local']);

export const shards = 2;

/** Number of shards of both clusters, or two replica sets. */
export type BenchTopology = { shards: number } | 'replicaSet';

/** The two clusters of a run; every case finds the same source and an empty destination. */
export class BenchClusters implements AsyncDisposable {
  private constructor(
    readonly source: TestCluster,
    readonly destination: TestCluster,
    readonly sourceClient: MongoClient,
    readonly destinationClient: MongoClient,
    private readonly closers: Closers,
  ) {}

  /** @param topology of both, two shards by default */
  static async start(folder: ScratchFolder, topology: BenchTopology = { shards }): Promise<BenchClusters> {
    const closers = new Closers();
    try {
      const source = closers.use(await startTestCluster({ name: 'source', topology, folder }));
      const destination = closers.use(await startTestCluster({ name: 'destination', topology, folder }));
      const clientOf = (cluster: TestCluster) => {
        const client = new MongoClient(cluster.connectionString);
        closers.defer(() => client.close());
        return client;
      };
      return new BenchClusters(source, destination, clientOf(source), clientOf(destination), closers);
    } catch (error) {
      await closers[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Drops everything on the destination, including the engine's state. */
  emptyDestination(): Promise<void> {
    return dropDatabases(this.destinationClient);
  }

  /** Drops everything on both. */
  async empty(): Promise<void> {
    await Promise.all([dropDatabases(this.sourceClient), dropDatabases(this.destinationClient)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.closers[Symbol.asyncDispose]();
  }
}

async function dropDatabases(client: MongoClient): Promise<void> {
  const { databases } = await client.db('admin').admin().listDatabases({ nameOnly: true });
  for (const { name } of databases) if (!ownDatabases.has(name)) await client.db(name).dropDatabase();
}
