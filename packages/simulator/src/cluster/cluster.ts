import { ClusterShard } from '../config/cluster-shard.js';
import { ConfigStore } from '../config/config-store.js';
import { ShardingCatalog } from '../config/sharding-catalog.js';
import { ClusterClock } from '../node/clock.js';
import { numberOf } from '../node/doc-fields.js';
import { Deployment } from '../node/deployment.js';
import { defaultVersion, type ReleaseSeries, ServerVersion } from '../node/server-version.js';
import { Balancer } from '../router/sharding/balancer-commands.js';
import { RangeDeletions } from '../router/sharding/range-deletions.js';
import { RouterMember } from './router-member.js';
import { shardAnswer } from './shard-answer.js';
import { ShardMember } from './shard-member.js';

export interface ClusterOptions {
  readonly shards: number;
  /** Ports: the first router takes it, the config server the next, then the shards, then further routers. 0, the default, takes any free ones. */
  readonly basePort?: number;
  readonly host?: string;
  /** Default 1. */
  readonly routers?: number;
  /** Bytes of oplog that each shard keeps. */
  readonly oplogBytesMax?: number;
  /** Seconds of history that snapshot reads reach back. */
  readonly snapshotWindowSeconds?: number;
  /** Release series that all nodes behave as; default 5.0. */
  readonly version?: ReleaseSeries;
  /** Milliseconds between no-ops on an idle member; default 1,000. */
  readonly noopIntervalMs?: number;
}

/** A running sharded cluster. */
export interface Cluster {
  /** `host:port` of the first router. */
  readonly router: string;
  readonly routers: readonly string[];
  readonly config: string;
  /** `host:port` of each shard, in the order of the ids `shard0`, `shard1`, … */
  readonly shards: readonly string[];
  /** `mongodb://` address of the first router. */
  readonly connectionString: string;
  readonly shardMembers: readonly ShardMember[];
  readonly routerMembers: readonly RouterMember[];
  readonly catalog: ShardingCatalog;
  close(): Promise<void>;
}

const defaultHost = '127.0.0.1';
const millisecondsPerSecond = 1000;

/** Starts a sharded cluster in this process: shards of one member each, a config server and routers. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const address = options.host ?? defaultHost;
  const port = (offset: number): number => (options.basePort === undefined || options.basePort === 0 ? 0 : options.basePort + offset);
  const clock = new ClusterClock();
  const deployment = new Deployment(options.version === undefined ? defaultVersion : ServerVersion.parse(options.version));
  const limits = { oplogBytesMax: options.oplogBytesMax, snapshotWindowSeconds: options.snapshotWindowSeconds, noopIntervalMs: options.noopIntervalMs };
  const config = await ShardMember.start({ kind: 'config', id: 'config', setName: 'cfg', address, port: port(1), clock, deployment, configServer: undefined, ...limits });
  const ranges = new RangeDeletions();
  const catalog = new ShardingCatalog(new ConfigStore(config.shard), clock);
  const members: ShardMember[] = [];
  for (let index = 0; index < options.shards; index += 1) {
    members.push(
      await ShardMember.start({
        kind: 'shard',
        id: `shard${index}`,
        setName: `s${index}`,
        address,
        port: port(2 + index),
        clock,
        deployment,
        configServer: config.connectionString,
        clusterAnswer: (request) => shardAnswer(catalog, ranges, `shard${index}`, request),
        ...limits,
      }),
    );
  }
  const configShard = memberShard(config, clock);
  await catalog.initialize(members.map((member) => memberShard(member, clock)));
  const delays = new Map(members.map((member) => [member.id, member.node.diagnostics.parameters]));
  const shared = {
    catalog,
    clock,
    deployment,
    configShard,
    balancer: new Balancer(),
    migration: {
      ranges,
      cleanupDelayMs: (shard: string) => (numberOf(delays.get(shard)?.value('orphanCleanupDelaySecs')) ?? 0) * millisecondsPerSecond,
    },
  };
  const routers: RouterMember[] = [];
  for (let index = 0; index < (options.routers ?? 1); index += 1) {
    routers.push(await RouterMember.start(shared, address, port(index === 0 ? 0 : 1 + options.shards + index)));
  }
  const hosts = routers.map((router) => router.identity.host);
  return {
    router: hosts[0] ?? '',
    routers: hosts,
    config: config.identity.host,
    shards: members.map((member) => member.identity.host),
    connectionString: `mongodb://${hosts[0] ?? ''}`,
    shardMembers: members,
    routerMembers: routers,
    catalog,
    close: async () => {
      ranges.close();
      await Promise.all([...routers, ...members, config].map((member) => member.close()));
    },
  };
}

function memberShard(member: ShardMember, clock: ClusterClock): ClusterShard {
  return new ClusterShard(member.id, member.connectionString, member.identity.host, member.shard, member.shard, clock.tick());
}
