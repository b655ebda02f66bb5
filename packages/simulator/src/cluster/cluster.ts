import { type AuthSetting, clusterAuth, shardAuth } from '../access/auth-options.js';
import { ClusterTimeSigner } from '../access/cluster-time-signer.js';
import { chunkBytes } from '../config/chunk-size.js';
import type { ClusterShard } from '../config/cluster-shard.js';
import { ConfigStore } from '../config/config-store.js';
import { ShardingCatalog } from '../config/sharding-catalog.js';
import { ClusterClock } from '../node/clock.js';
import { Deployment } from '../node/deployment.js';
import { defaultVersion, type ReleaseSeries, ServerVersion } from '../node/server-version.js';
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

const defaultHost = '127.0.0.1';

/** The nodes of a cluster that hold data, with what its routers share. */
interface Members {
  readonly clock: ClusterClock;
  readonly deployment: Deployment;
  readonly config: ShardMember;
  readonly configShard: ClusterShard;
  readonly ranges: RangeDeletions;
  readonly catalog: ShardingCatalog;
  readonly roster: ShardRoster;
}

/** A running sharded cluster. */
export class Cluster {
  /** The faults of every node, by name: `router0`, …, `config`, `shard0`, … */
  readonly nodes: ReadonlyMap<string, NodeControl>;
  readonly catalog: ShardingCatalog;
  readonly #nodes: Map<string, NodeControl>;

  constructor(
    private readonly held: Members,
    /** The balancer; `round()` makes one round at once. */
    readonly balancer: Balancer,
    readonly routerMembers: readonly RouterMember[],
  ) {
    const { catalog, config, roster } = held;
    this.catalog = catalog;
    this.#nodes = new Map([...routerMembers, config, ...roster.members].map(({ control }) => [control.name, control]));
    this.nodes = this.#nodes;
  }

  /** `host:port` of the first router. */
  get router(): string {
    return this.routers[0] ?? '';
  }

  get routers(): readonly string[] {
    return this.routerMembers.map(({ identity }) => identity.host);
  }

  get config(): string {
    return this.held.config.identity.host;
  }

  get shardMembers(): readonly ShardMember[] {
    return this.held.roster.members;
  }

  /** `host:port` of each shard, in the order of the ids `shard0`, `shard1`, … */
  get shards(): readonly string[] {
    return this.shardMembers.map(({ identity }) => identity.host);
  }

  /** `mongodb://` address of the first router. */
  get connectionString(): string {
    return `mongodb://${this.router}`;
  }

  /** Starts one more member, which `addShard` with its connection string `setName/host:port` turns into a shard. */
  async startShard(): Promise<ShardMember> {
    const member = await this.held.roster.start(0);
    this.#nodes.set(member.id, member.control);
    return member;
  }

  /** The faults of a node. @throws RangeError for an unknown name */
  node(name: string): NodeControl {
    const node = this.nodes.get(name);
    if (node === undefined) throw new RangeError(`no node ${name}: the nodes are ${[...this.nodes.keys()].join(', ')}`);
    return node;
  }

  /** The faults of a shard or of the config server. @throws RangeError for an unknown name */
  member(name: string): MemberControl {
    const node = this.node(name);
    if (node instanceof MemberControl) return node;
    throw new RangeError(`${name} is a router`);
  }

  async close(): Promise<void> {
    const { config, ranges, roster } = this.held;
    this.balancer.close();
    ranges.close();
    await Promise.all([...this.routerMembers, ...roster.members, config].map((member) => member.close()));
  }
}

/** Starts a sharded cluster in this process: shards of one member each, a config server and routers. */
export async function startWholeCluster(options: ClusterOptions): Promise<Cluster> {
  const held = await startMembers(options);
  const { catalog, clock, config, configShard, deployment, ranges, roster } = held;
  const migration = {
    catalog,
    ranges,
    cleanupDelayMs: (shard: string) => roster.cleanupDelayMs(shard),
    lockWaitMs: (shard: string) => roster.lockWaitMs(shard),
    chunkBytesMax: () => chunkBytes(configShard.stored, config.identity.version),
  };
  const balancer = new Balancer({
    migration,
    configShard,
    release: config.identity.release,
    roundMs: options.balancerRoundMs ?? roundMsDefault,
  });
  const { available } = roster;
  const shared = { catalog, clock, deployment, configShard, realm: config.realm, balancer, migration, available };
  const routers: RouterMember[] = [];
  for (let index = 0; index < (options.routers ?? 1); index += 1) {
    const port = portOf(options, index === 0 ? 0 : 1 + options.shards + index);
    routers.push(await RouterMember.start(`router${index}`, shared, options.host ?? defaultHost, port));
  }
  return new Cluster(held, balancer, routers);
}

/** Starts the config server and the shards. */
async function startMembers(options: ClusterOptions): Promise<Members> {
  const clock = new ClusterClock(options.now);
  const deployment = new Deployment(
    options.version === undefined ? defaultVersion : ServerVersion.parse(options.version),
  );
  const common = {
    address: options.host ?? defaultHost,
    clock,
    deployment,
    signer: new ClusterTimeSigner(clock),
    oplogBytesMax: options.oplogBytesMax,
    snapshotWindowSeconds: options.snapshotWindowSeconds,
    noopIntervalMs: options.noopIntervalMs,
    hostSelectionMs: options.hostSelectionMs,
  };
  const shards: { roster?: ShardRoster } = {};
  const config = await ShardMember.start({
    ...common,
    kind: 'config',
    id: 'config',
    setName: 'cfg',
    port: portOf(options, 1),
    configServer: undefined,
    auth: clusterAuth(options.auth),
    keepsToRouters: () => catalog.shards.includes(configShard) && shards.roster?.keepsToRouters === true,
  });
  const configShard = memberShard(config, config.id, clock);
  const ranges = new RangeDeletions();
  const catalog = new ShardingCatalog(new ConfigStore(config.link), clock, config.identity.release);
  const { failPoints } = config.node.nodeCommands;
  catalog.reshardings.point = failPoints.get('reshardingPauseCoordinatorBeforeBlockingWrites') ?? null;
  const roster = new ShardRoster(catalog, ranges, config, {
    ...common,
    kind: 'shard',
    configServer: config.connectionString,
    auth: shardAuth(options.auth),
  });
  shards.roster = roster;
  for (let index = 0; index < options.shards; index += 1) await roster.start(portOf(options, 2 + index));
  await catalog.initialize(roster.members.map((member) => roster.asShard(member)));
  return { clock, deployment, config, configShard, ranges, catalog, roster };
}

/** The port at a place after the first one; 0 for any free one. */
function portOf({ basePort = 0 }: ClusterOptions, offset: number): number {
  return basePort === 0 ? 0 : basePort + offset;
}
