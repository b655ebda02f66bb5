import { setTimeout as delay } from 'node:timers/promises';
import type { Doc } from '../bson/value.js';
import { ClusterShard } from '../config/cluster-shard.js';
import type { ShardingCatalog } from '../config/sharding-catalog.js';
import type { ClusterClock } from '../node/clock.js';
import { answerAtDecisionParameter } from '../every-node/server-parameters.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { numberOf, doc, requiredText } from '../node/doc-fields.js';
import type { RangeDeletions } from '../router/sharding/range-deletions.js';
import { ShardOwnership } from '../router/target/shard-ownership.js';
import { type MemberOptions, ShardMember } from './shard-member.js';

const millisecondsPerSecond = 1000;
/** The feature version from which shards leave users' data to routers, and the shards that count for it. */
const keepsToRoutersFeature = 8;
const shardsMin = 2;

/** The members that are shards of a cluster, or may become shards. */
export class ShardRoster {
  readonly members: ShardMember[] = [];
  /** What `addShard` accepts, by `setName/host:port`. */
  readonly available = new Map<string, (id: string) => ClusterShard>();
  /** Members by the id of their shard. */
  readonly #byShard = new Map<string, ShardMember>();

  constructor(
    private readonly catalog: ShardingCatalog,
    private readonly ranges: RangeDeletions,
    /** The config server, which may become a shard too. */
    config: ShardMember,
    private readonly options: Omit<MemberOptions, 'id' | 'setName' | 'port' | 'clusterAnswer' | 'keepsToRouters'>,
  ) {
    this.#byShard.set(config.id, config);
  }

  /** Starts one more member. @param port 0 takes any free one */
  async start(port: number): Promise<ShardMember> {
    const index = this.members.length;
    const shard = { id: `shard${index}` };
    const member = await ShardMember.start({
      ...this.options,
      id: shard.id,
      setName: `s${index}`,
      port,
      keepsToRouters: () => this.keepsToRouters,
      clusterAnswer: (request) => shardAnswer(this.catalog, this.ranges, shard.id, request),
    });
    this.members.push(member);
    this.#byShard.set(shard.id, member);
    this.available.set(member.connectionString, (id) => {
      shard.id = id;
      this.#byShard.set(id, member);
      return this.asShard(member, id);
    });
    return member;
  }

  /** Whether shards leave users' data to routers. */
  get keepsToRouters(): boolean {
    const shards = Math.max(this.members.length, this.catalog.shards.length);
    return shards >= shardsMin && Number(this.options.deployment.featureCompatibilityVersion) >= keepsToRoutersFeature;
  }

  /** A member as the rest of the cluster sees it. From then on it knows which documents it owns. */
  asShard(member: ShardMember, id = member.id): ClusterShard {
    const shard = memberShard(member, id, this.options.clock);
    member.shard.knowOwnership(() => new ShardOwnership(this.catalog, shard, {}));
    return shard;
  }

  /** Milliseconds that a shard keeps orphans (`orphanCleanupDelaySecs`). */
  cleanupDelayMs(shard: string): number {
    return this.#parameter(shard, 'orphanCleanupDelaySecs') * millisecondsPerSecond;
  }

  /** Milliseconds that a move from a shard waits for transactions (`migrationLockAcquisitionMaxWaitMS`). */
  lockWaitMs(shard: string): number {
    return this.#parameter(shard, 'migrationLockAcquisitionMaxWaitMS');
  }

  #parameter(shard: string, name: string): number {
    return numberOf(this.#byShard.get(shard)?.node.nodeCommands.parameters.value(name)) ?? 0;
  }
}

/** A member as the rest of the cluster sees it. */
export function memberShard(member: ShardMember, id: string, clock: ClusterClock): ClusterShard {
  const { connectionString, identity, link, shard, node } = member;
  const { failPoints, parameters } = node.nodeCommands;
  const suspended = (): boolean => failPoints.active('suspendRangeDeletion');
  const holdsCommits = (): boolean => failPoints.active('hangBeforeCommitingTxn');
  const answersAtDecision = (): boolean => parameters.value(answerAtDecisionParameter) === true;
  return new ClusterShard(
    id,
    { connectionString, host: identity.host },
    link,
    shard,
    clock.tick(),
    suspended,
    holdsCommits,
    answersAtDecision,
  );
}

/** Longest wait of one `cleanupOrphaned` when the client sets no `maxTimeMS`. */
const cleanupWaitMsMax = 3_600_000;

/** Commands of a shard about its place in the cluster. Undefined for all others. */
function shardAnswer(
  catalog: ShardingCatalog,
  ranges: RangeDeletions,
  shardId: string,
  request: CommandRequest,
): Promise<Doc> | undefined {
  if (request.name === 'flushRouterConfig') return Promise.resolve(doc(['flushed', true]));
  if (request.name === 'cleanupOrphaned') return cleanupOrphaned(catalog, ranges, shardId, request);
  return undefined;
}

/** Waits until the shard has cleaned up the ranges of a collection that it has given away. */
async function cleanupOrphaned(
  catalog: ShardingCatalog,
  ranges: RangeDeletions,
  shardId: string,
  request: CommandRequest,
): Promise<Doc> {
  const namespace = requiredText(request.body, 'cleanupOrphaned');
  const waitMs = numberOf(request.body.get('maxTimeMS')) ?? cleanupWaitMsMax;
  const done = new AbortController();
  const limit = delay(waitMs, 'late' as const, {
    signal: AbortSignal.any([done.signal, request.signal]),
    ref: false,
  }).catch(() => 'late' as const);
  const first = await Promise.race([
    ranges.wait(catalog.shard(shardId), namespace).then(() => 'clean' as const),
    limit,
  ]);
  done.abort();
  if (first === 'late') throw new CommandError(50, 'MaxTimeMSExpired', 'operation exceeded time limit');
  return new Map();
}
