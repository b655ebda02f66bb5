import { type Document, MongoClient } from 'mongodb';
import { adminCommand } from '@convoy/testbed/cluster/real-servers';
import { startTestCluster } from '@convoy/testbed/cluster/start-test-cluster';
import type { TestCluster, TestClusterOptions } from '@convoy/testbed/cluster/test-cluster';
import { Closers } from '@convoy/testbed/closers';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { type BenchCollection, fill, shardByHash } from './bench-documents.js';

/** Databases of the servers. */
const ownDatabases: ReadonlySet<string> = new Set(['admin', 'config', 'local']);

/** Of each cluster, where a benchmark has no other number. */
export const shards = 2;

/**
 * Interval at which real servers write a checkpoint. By default it is a minute: one run of several would pay for what
 * earlier ones have written.
 */
const checkpointInterval_seconds = 3600;

/** The two clusters of a run; every case finds the same source and an empty destination. */
export class BenchClusters implements AsyncDisposable {
  private constructor(
    private readonly sourceSide: BenchSide,
    private destinationSide: BenchSide,
    private readonly startDestination: () => Promise<BenchSide>,
  ) {}

  /**
   * @param kind of both clusters
   * @param options `size`: shards of each sharded one; the others as for `startTestCluster`
   */
  static async start(
    folder: ScratchFolder,
    kind: TestCluster['kind'] = 'sharded',
    { size = shards, ...access }: { size?: number } & Pick<TestClusterOptions, 'release' | 'withUsers'> = {},
  ): Promise<BenchClusters> {
    const common = { topology: kind === 'sharded' ? { shards: size } : kind, folder, ...access };
    const source = await startSide({ name: 'source', side: 'source', ...common });
    let started = 0;
    const startDestination = (): Promise<BenchSide> =>
      startSide({ name: `destination${(started += 1) === 1 ? '' : started}`, side: 'destination', ...common });
    try {
      return new BenchClusters(source, await startDestination(), startDestination);
    } catch (error) {
      await source[Symbol.asyncDispose]();
      throw error;
    }
  }

  get source(): TestCluster {
    return this.sourceSide.cluster;
  }

  get destination(): TestCluster {
    return this.destinationSide.cluster;
  }

  get sourceClient(): MongoClient {
    return this.sourceSide.client;
  }

  get destinationClient(): MongoClient {
    return this.destinationSide.client;
  }

  /** Creates a collection on one side with all its documents. */
  async load(side: 'source' | 'destination', collection: BenchCollection): Promise<void> {
    await this.shard(side, collection);
    await fill(this.#side(side).client, collection);
  }

  /** Shards an empty collection by hashed `_id` over all shards, where that side is sharded. */
  async shard(side: 'source' | 'destination', collection: BenchCollection): Promise<void> {
    const { cluster, client } = this.#side(side);
    if (cluster.kind === 'sharded') await shardByHash(client, collection, cluster.shardIds.length);
  }

  #side(side: 'source' | 'destination'): BenchSide {
    return side === 'source' ? this.sourceSide : this.destinationSide;
  }

  /** Drops everything on the destination, including the engine's state. */
  async emptyDestination(): Promise<void> {
    await dropDatabases(this.destinationClient);
    await this.#writeCheckpoints();
  }

  /**
   * Replaces the destination by a new one. Servers keep the files of dropped collections open for five minutes, which
   * with thousands of collections exceeds the number that a process may open.
   */
  async replaceDestination(): Promise<void> {
    await this.destinationSide[Symbol.asyncDispose]();
    this.destinationSide = await this.startDestination();
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
    const closers = new Closers();
    closers.use(this.sourceSide);
    closers.use(this.destinationSide);
    await closers[Symbol.asyncDispose]();
  }
}

/** A cluster with a client of its own. */
interface BenchSide extends AsyncDisposable {
  readonly cluster: TestCluster;
  readonly client: MongoClient;
}

async function startSide(options: TestClusterOptions): Promise<BenchSide> {
  const closers = new Closers();
  try {
    const cluster = closers.use(await startTestCluster(options));
    const client = new MongoClient(cluster.connectionStringOf('root'));
    closers.defer(() => client.close());
    await onShards(cluster, { setParameter: 1, syncdelay: checkpointInterval_seconds });
    return { cluster, client, [Symbol.asyncDispose]: () => closers[Symbol.asyncDispose]() };
  } catch (error) {
    await closers[Symbol.asyncDispose]();
    throw error;
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
