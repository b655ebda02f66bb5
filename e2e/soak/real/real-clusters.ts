import { MongoClient } from 'mongodb';
import { Closers } from '@convoy/testbed/closers';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { startTestCluster } from '@convoy/testbed/cluster/start-test-cluster';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import type { HistoryChoice } from '../history.js';
import { realShards } from './real-history.js';

/** The clusters of a history. */
export const realSides = ['source', 'destination'] as const;

type Side = (typeof realSides)[number];

const serverDatabases: ReadonlySet<string> = new Set(['admin', 'config', 'local']);
/** An election among one member takes about a second. */
const primaryWithin_ms = 60_000;
/**
 * A donor keeps the documents of a chunk that has moved for so long, where it is 15 minutes by default: time for reads
 * to meet them, and no chunk may come back before.
 */
const orphans_seconds = 2;

/** A source and a destination for several histories, one after the other. */
export class RealClusters implements AsyncDisposable {
  private constructor(
    readonly source: TestCluster,
    readonly destination: TestCluster,
    readonly clients: Readonly<Record<Side, MongoClient>>,
    private readonly closers: Closers,
  ) {}

  /**
   * Starts both: real servers where there are some, simulated ones in processes of their own otherwise.
   * @param members of each set of real servers
   */
  static async start(
    folder: ScratchFolder,
    { toReplicaSet, moves }: Pick<HistoryChoice, 'toReplicaSet' | 'moves'>,
    members = 1,
  ): Promise<RealClusters> {
    const closers = new Closers();
    try {
      const start = async (name: Side) =>
        closers.use(
          await startTestCluster({
            name,
            side: name,
            topology: toReplicaSet && name === 'destination' ? 'replicaSet' : { shards: realShards },
            members,
            folder,
          }),
        );
      const [source, destination] = await Promise.all([start('source'), start('destination')]);
      if (moves) await deleteOrphansSoon(source);
      const clientTo = ({ connectionString }: TestCluster): MongoClient => {
        const client = new MongoClient(connectionString);
        closers.defer(() => client.close());
        return client;
      };
      return new RealClusters(
        source,
        destination,
        { source: clientTo(source), destination: clientTo(destination) },
        closers,
      );
    } catch (error) {
      await closers[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Whether time series of the source can be migrated: changes of their buckets are shown from 6.0 on. */
  get takesSeries(): boolean {
    return this.source.version[0] >= 6;
  }

  /** Removes everything that a history has left on both. */
  async clear(): Promise<void> {
    for (const side of realSides) {
      const client = this.clients[side];
      const { databases } = await client.db('admin').admin().listDatabases({ nameOnly: true });
      for (const { name } of databases) if (!serverDatabases.has(name)) await client.db(name).dropDatabase();
      if (this[side].kind === 'sharded') await client.db('admin').command({ balancerStart: 1 });
    }
  }

  /**
   * Lets the primary of a shard step down, which is elected again afterwards, and waits until it is.
   * @param who chooses the shard
   */
  async stepDown(side: Side, who: number, lasts_ms: number): Promise<void> {
    const cluster = this[side];
    const shardId = cluster.shardIds[who % cluster.shardIds.length] ?? '';
    await using member = new MongoClient(cluster.shardConnectionString(shardId));
    const admin = member.db('admin');
    await admin
      .command({ replSetStepDown: Math.max(1, Math.round(lasts_ms / 1000)), force: true })
      .catch(() => undefined);
    await pollUntil(
      'the shard has a primary',
      primaryWithin_ms,
      async () => (await admin.command({ hello: 1 }))['isWritablePrimary'] === true,
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.closers[Symbol.asyncDispose]();
  }
}

async function deleteOrphansSoon(cluster: TestCluster): Promise<void> {
  for (const shardId of cluster.shardIds) {
    await using shard = new MongoClient(cluster.shardConnectionString(shardId));
    await shard.db('admin').command({ setParameter: 1, orphanCleanupDelaySecs: orphans_seconds });
  }
}
