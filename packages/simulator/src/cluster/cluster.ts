import { type AuthSetting, clusterAuth, shardAuth } from '../access/auth-options.js';
import { ClusterTimeSigner } from '../access/cluster-time-signer.js';
import { ConfigStore } from '../config/config-store.js';
import { ShardingCatalog } from '../config/sharding-catalog.js';
import { ClusterClock } from '../node/clock.js';
import { Deployment } from '../node/deployment.js';
import { defaultVersion, type ReleaseSeries, ServerVersion } from '../node/server-version.js';
import { chunkBytes } from '../config/chunk-size.js';
import { Balancer, roundMsDefault } from '../router/sharding/balancer.js';
import { RangeDeletions } from '../router/sharding/range-deletions.js';
import { MemberControl } from './member-control.js';
import type { NodeControl } from './node-control.js';
import { RouterMember } from './router-member.js';
import { ShardMember } from './shard-member.js';
import { memberShard, ShardRoster } from './shard-roster.js';

export interface ClusterOptions {
  readonly shards: number;
  /**
   * Ports: the first router gets this one, the config server the next, then the shards, then further routers. 0, the
   * default, takes any free ones.
   */
  readonly basePort?: number;
  readonly host?: string;
  /** Default 1. */
  readonly routers?: number;
  /** Bytes of oplog that each shard keeps. */
  readonly oplogBytesMax?: number;
  /** Seconds of history that snapshot reads reach back. */
  readonly snapshotWindowSeconds?: number;
  /** Release series that all nodes behave as; default 8.0. */
  readonly version?: ReleaseSeries;
  /** Milliseconds between no-ops on an idle member; default 1,000. */
  readonly noopIntervalMs?: number;
  /** How long routers look for a primary of a shard before they fail, in milliseconds. Default 15,000. */
  readonly hostSelectionMs?: number;
  /**
   * Milliseconds between two rounds of the balancer without moves, a tenth of it after moves. Default 10,000, 0 for
   * none.
   */
  readonly balancerRoundMs?: number;
  /** Access control, off by default. */
  readonly auth?: AuthSetting;
  /** Wall clock in milliseconds from which cluster times derive, so that tests can stop it. Default `Date.now`. */
  readonly now?: () => number;
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
  /** The balancer; `round()` makes one round at once. */
  readonly balancer: Balancer;
  /** Starts one more member, which `addShard` with its connection string `setName/host:port` turns into a shard. */
  startShard(): Promise<ShardMember>;
  /** The faults of every node, by name: `router0`, …, `config`, `shard0`, … */
  readonly nodes: ReadonlyMap<string, NodeControl>;
  /** The faults of a node. @throws RangeError for an unknown name */
  node(name: string): NodeControl;
  /** The faults of a shard or of the config server. @throws RangeError for an unknown name */
  member(name: string): MemberControl;
  close(): Promise<void>;
}

const defaultHost = '127.0.0.1';

/** Starts a sharded cluster in this process: shards of one member each, a config server and routers. */
export async function startWholeCluster(options: ClusterOptions): Promise<Cluster> {
  const address = options.host ?? defaultHost;
  const port = (offset: number): number =>
    options.basePort === undefined || options.basePort === 0 ? 0 : options.basePort + offset;
  const clock = new ClusterClock(options.now);
  const deployment = new Deployment(
    options.version === undefined ? defaultVersion : ServerVersion.parse(options.version),
  );
  const limits = {
    oplogBytesMax: options.oplogBytesMax,
    snapshotWindowSeconds: options.snapshotWindowSeconds,
    noopIntervalMs: options.noopIntervalMs,
    hostSelectionMs: options.hostSelectionMs,
  };
  const common = { address, clock, deployment, signer: new ClusterTimeSigner(clock), ...limits };
  const shards: { roster?: ShardRoster } = {};
  const config = await ShardMember.start({
    ...common,
    kind: 'config',
    id: 'config',
    setName: 'cfg',
    port: port(1),
    configServer: undefined,
    auth: clusterAuth(options.auth),
    keepsToRouters: () => catalog.shards.includes(configShard) && shards.roster?.keepsToRouters === true,
  });
  const configShard = memberShard(config, config.id, clock);
  const ranges = new RangeDeletions();
  const catalog = new ShardingCatalog(new ConfigStore(config.link), clock, config.identity.release);
  const roster = new ShardRoster(catalog, ranges, config, {
    ...common,
    kind: 'shard',
    configServer: config.connectionString,
    auth: shardAuth(options.auth),
  });
  shards.roster = roster;
  for (let index = 0; index < options.shards; index += 1) await roster.start(port(2 + index));
  await catalog.initialize(roster.members.map((member) => roster.asShard(member)));
  const chunkBytesMax = (): number => chunkBytes(configShard.stored, config.identity.version);
  const migration = {
    catalog,
    ranges,
    cleanupDelayMs: (shard: string) => roster.cleanupDelayMs(shard),
    lockWaitMs: (shard: string) => roster.lockWaitMs(shard),
    chunkBytesMax,
  };
  const balancer = new Balancer({
    migration,
    configShard,
    release: config.identity.release,
    roundMs: options.balancerRoundMs ?? roundMsDefault,
  });
  const shared = {
    catalog,
    clock,
    deployment,
    configShard,
    realm: config.realm,
    balancer,
    migration,
    available: roster.available,
  };
  const routers: RouterMember[] = [];
  for (let index = 0; index < (options.routers ?? 1); index += 1) {
    routers.push(
      await RouterMember.start(`router${index}`, shared, address, port(index === 0 ? 0 : 1 + options.shards + index)),
    );
  }
  const nodes = new Map<string, NodeControl>(
    [...routers, config, ...roster.members].map(({ control }) => [control.name, control]),
  );
  const hosts = routers.map((router) => router.identity.host);
  return {
    router: hosts[0] ?? '',
    routers: hosts,
    config: config.identity.host,
    shards: roster.members.map((member) => member.identity.host),
    connectionString: `mongodb://${hosts[0] ?? ''}`,
    shardMembers: roster.members,
    routerMembers: routers,
    catalog,
    balancer,
    startShard: async () => {
      const member = await roster.start(0);
      nodes.set(member.id, member.control);
      return member;
    },
    nodes,
    node: (name) => nodeNamed(nodes, name),
    member: (name) => memberNamed(nodes, name),
    close: async () => {
      balancer.close();
      ranges.close();
      await Promise.all([...routers, ...roster.members, config].map((member) => member.close()));
    },
  };
}

function nodeNamed(nodes: ReadonlyMap<string, NodeControl>, name: string): NodeControl {
  const node = nodes.get(name);
  if (node === undefined) throw new RangeError(`no node ${name}: the nodes are ${[...nodes.keys()].join(', ')}`);
  return node;
}

function memberNamed(nodes: ReadonlyMap<string, NodeControl>, name: string): MemberControl {
  const node = nodeNamed(nodes, name);
  if (node instanceof MemberControl) return node;
  throw new RangeError(`${name} is a router`);
}
