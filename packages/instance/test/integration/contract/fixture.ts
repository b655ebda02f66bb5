import type { Fleet } from '@convoy/api/fleet/fleet';
import { LoneFleet } from '@convoy/api/fleet/lone-fleet';
import type { ReleaseSeries } from '@convoy/simulator';
import { migratorCredentials } from '@convoy/testbed/cluster/access-control';
import { startLocalCluster, type LocalClusterOptions } from '@convoy/testbed/cluster/local-cluster';
import { MongoClient, type Document } from 'mongodb';
import { codeOf } from '../../../src/cluster/failure.js';
import { parseInstanceConfig } from '../../../src/config/instance-config.js';
import { RecentLogs } from '../../../src/logging/recent-logs.js';
import { runInstance } from '../../../src/process/instance-process.js';
import { instanceLogger } from '../instance-log.js';
import { ServedInstance } from './served-instance.js';

/** The topology of a cluster: a number of shards, or a replica set. */
export type Shape = { readonly shards: number } | 'replicaSet';

/**
 * The releases of the servers, as `startLocalCluster` takes them, and whether they have users: without them nobody logs
 * in.
 */
export interface Releases {
  readonly cluster0?: ReleaseSeries;
  readonly cluster1?: ReleaseSeries;
  readonly withUsers?: boolean;
  /** Limits the oplog of each shard of cluster1. */
  readonly oplogBytes1?: number;
}

/** Settings with which an instance reads the shards of clusters with users. */
export const readsShards = {
  sourceAccess: 'direct',
  shards: { cluster0: migratorCredentials, cluster1: migratorCredentials },
} as const;

const commandNotFound = 59;
const serverDatabases: ReadonlySet<string> = new Set(['admin', 'config', 'local']);

/** A cluster and a user's client of it. */
export class Side {
  private constructor(
    readonly connectionString: string,
    readonly client: MongoClient,
    /** A client of a user who may only read and write; without users, the same as the other. */
    readonly shopper: MongoClient,
    private readonly shape: Shape,
    private readonly stop: () => Promise<void>,
    /** Of the config server of a sharded cluster of real servers. */
    readonly configConnectionString?: string,
  ) {}

  static async open(options: LocalClusterOptions & { topology: Shape }): Promise<Side> {
    const { topology, withUsers } = options;
    const servers = await startLocalCluster(options);
    const client = await new MongoClient(servers.connectionStringOf('root')).connect();
    const shopper =
      withUsers === true ? await new MongoClient(servers.connectionStringOf('shopper')).connect() : client;
    const close = (): Promise<void> => servers.close();
    return new Side(servers.connectionString, client, shopper, topology, close, servers.configConnectionString);
  }

  /** Wraps servers that run already, without users. */
  static async around(connectionString: string, shape: Shape, stop: () => Promise<void>): Promise<Side> {
    const client = await new MongoClient(connectionString).connect();
    return new Side(connectionString, client, client, shape, stop);
  }

  /** Databases of users and of Convoy. */
  async databases(): Promise<string[]> {
    const { databases } = await this.client.db('admin').admin().listDatabases({ nameOnly: true });
    return databases.map(({ name }) => name).filter((name) => !serverDatabases.has(name));
  }

  /** Of a sharded cluster, in order. */
  async shardIds(): Promise<string[]> {
    return (await this.shards()).map(({ id }) => id);
  }

  /** Its shards in the order of their ids, with the address of each one itself, without a login; none of a set. */
  async shards(): Promise<{ id: string; zones: readonly string[]; url: string }[]> {
    const rows = this.client.db('config').collection<{ _id: string; host: string; tags?: string[] }>('shards');
    return (await rows.find().sort({ _id: 1 }).toArray()).map(({ _id, host, tags = [] }) => ({
      id: _id,
      zones: tags,
      url: `mongodb://${host.split('/').at(-1) ?? ''}/?directConnection=true`,
    }));
  }

  /** Everything that a refused request must leave unchanged: databases, collections, counts, indexes, the balancer. */
  async contents(): Promise<Document> {
    const contents: Document = {};
    for (const database of (await this.databases()).sort()) {
      const db = this.client.db(database);
      for (const { name, type } of await db.listCollections().toArray()) {
        contents[`${database}.${name}`] = type === 'collection' ? await definitionAndCount(db.collection(name)) : type;
      }
    }
    if (this.shape !== 'replicaSet')
      contents.balancer = (await this.client.db('admin').command({ balancerStatus: 1 })).mode as unknown;
    return contents;
  }

  /** Shards a collection. Releases before 6.0 want that asked for its database first. */
  async shardCollection(namespace: string, key: Document): Promise<void> {
    const admin = this.client.db('admin');
    await admin.command({ enableSharding: namespace.slice(0, namespace.indexOf('.')) });
    await admin.command({ shardCollection: namespace, key });
  }

  /** Lifts a block of user writes, as an administrator does; releases before 6.0 have none. */
  async allowWrites(): Promise<void> {
    await this.client
      .db('admin')
      .command({ setUserWriteBlockMode: 1, global: false })
      .catch((error: unknown) => {
        if (codeOf(error) !== commandNotFound) throw error;
      });
  }

  async dropDatabases(): Promise<void> {
    for (const name of await this.databases()) await this.client.db(name).dropDatabase();
  }

  async close(): Promise<void> {
    await this.client.close();
    await this.shopper.close();
    await this.stop();
  }
}

async function definitionAndCount(
  collection: ReturnType<ReturnType<MongoClient['db']>['collection']>,
): Promise<Document> {
  return { count: await collection.countDocuments(), indexes: (await collection.indexes()).map(({ name }) => name) };
}

/** Two clusters, configured as `cluster0` and `cluster1` of every instance that the fixture starts. */
export class Fixture implements AsyncDisposable {
  constructor(
    readonly cluster0: Side,
    readonly cluster1: Side,
  ) {}

  static async open(cluster0: Shape, cluster1: Shape, releases: Releases = {}): Promise<Fixture> {
    const { cluster0: older, cluster1: newer, withUsers = false, oplogBytes1 } = releases;
    const source = Side.open({
      side: 'source',
      topology: cluster0,
      withUsers,
      ...(older !== undefined && { release: older }),
    });
    const destination = Side.open({
      side: 'destination',
      topology: cluster1,
      withUsers,
      ...(newer !== undefined && { release: newer }),
      ...(oplogBytes1 !== undefined && { oplogBytes: oplogBytes1 }),
    });
    return new Fixture(...(await Promise.all([source, destination])));
  }

  /** Runs an instance and waits until it accepts commands. */
  async startInstance(flags: Document = {}, fleet: Fleet = new LoneFleet()): Promise<ServedInstance> {
    const instance = await this.launchInstance(flags, fleet);
    await instance.untilReady();
    return instance;
  }

  /** Runs an instance; it may still be initialising. */
  async launchInstance(flags: Document = {}, fleet: Fleet = new LoneFleet()): Promise<ServedInstance> {
    const config = parseInstanceConfig({
      flags: {
        cluster0: this.cluster0.connectionString,
        cluster1: this.cluster1.connectionString,
        port: 0,
        partition_seconds: 1,
        checkpoint_ms: 100,
        ...flags,
      },
    });
    const recentLogs = new RecentLogs();
    const logger = instanceLogger(`instance ${config.id ?? 'single'}`, recentLogs);
    const running = await runInstance(config, { fleet, logger, recentLogs });
    return new ServedInstance(running.url, () => running.close(), recentLogs);
  }

  /** Empties both clusters. Close every instance first. */
  async clear(): Promise<void> {
    await this.cluster0.dropDatabases();
    await this.cluster1.dropDatabases();
  }

  async close(): Promise<void> {
    await this.cluster0.close();
    await this.cluster1.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
