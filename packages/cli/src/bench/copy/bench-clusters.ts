import { type Document, MongoClient } from 'mongodb';
import { adminCommand } from '@convoy/testbed/cluster/real-servers';
import { startTestCluster } from '@convoy/testbed/cluster/start-test-cluster';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { Closers } from '@convoy/testbed/closers';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';

/** Databases of the servers. */
const ownDatabases: ReadonlySet<string> = new Set(['admin', 'config', 'local']);

export const shards = 2;

/**
 * Interval at which real servers write a checkpoint. By default it is a minute: one run of several would pay for what
 * earlier ones have written.
 */
const checkpointInterval_seconds = 3600;

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
      for (const cluster of [source, destination])
        await onShards(cluster, { setParameter: 1, syncdelay: checkpointInterval_seconds });
      return new BenchClusters(source, destination, clientOf(source), clientOf(destination), closers);
    } catch (error) {
      await closers[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Drops everything on the destination, including the engine's state. */
  async emptyDestination(): Promise<void> {
    await dropDatabases(this.destinationClient);
    await this.#writeCheckpoints();
  }

  /** Drops everything on both. */
  async empty(): Promise<void> {
    await Promise.all([dropDatabases(this.sourceClient), dropDatabases(this.destinationClient)]);
    await this.#writeCheckpoints();
  }

  async #writeCheckpoints(): Promise<void> {
    for (const cluster of [this.source, this.destination]) await onShards(cluster, { fsync: 1 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.closers[Symbol.asyncDispose]();
  }
}

/** Runs an administrative command on every shard of real servers; simulated ones have no files. */
async function onShards(cluster: TestCluster, command: Document): Promise<void> {
  if (cluster.backend === 'simulator') return;
  for (const id of cluster.shardIds) await adminCommand(cluster.shardConnectionString(id), command);
}

async function dropDatabases(client: MongoClient): Promise<void> {
  const { databases } = await client.db('admin').admin().listDatabases({ nameOnly: true });
  for (const { name } of databases) if (!ownDatabases.has(name)) await client.db(name).dropDatabase();
}
