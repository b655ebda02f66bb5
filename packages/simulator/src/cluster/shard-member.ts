import type { Binary } from 'bson';
import { type ServerAuth, shardAuth } from '../access/auth-options.js';
import { ClusterTimeSigner } from '../access/cluster-time-signer.js';
import { type AccessRealm, guardNode, keepSigningKey, openRealm } from '../access/guard-node.js';
import { AccessDocuments } from '../access/user/access-documents.js';
import type { Doc } from '../bson/value.js';
import { ConfigStore } from '../config/config-store.js';
import { MemberLink } from '../config/member-link.js';
import { MemberNode } from '../every-node/member-node.js';
import { NodeIdentity, type NodeKind } from '../every-node/node-identity.js';
import { serverStatus } from '../every-node/server-status.js';
import type { FailPoints } from '../faults/fail-points.js';
import type { ClusterClock } from '../node/clock.js';
import type { CommandRequest } from '../node/command.js';
import type { Deployment } from '../node/deployment.js';
import { doc, docOf } from '../node/doc-fields.js';
import { internalRequest } from '../node/internal-request.js';
import { ShardNode } from '../shard/shard-node.js';
import type { ServedNode } from '../wire/served-node.js';
import { WireServer } from '../wire/wire-server.js';
import { MemberControl } from './member-control.js';

export interface MemberOptions {
  readonly kind: Exclude<NodeKind, 'router'>;
  readonly id: string;
  readonly setName: string;
  readonly address: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly clock: ClusterClock;
  readonly configServer: string | undefined;
  readonly deployment: Deployment;
  readonly oplogBytesMax?: number | undefined;
  readonly snapshotWindowSeconds?: number | undefined;
  /** Milliseconds between no-ops; default 1,000. */
  readonly noopIntervalMs?: number | undefined;
  /** Its own users, and whether it checks their privileges. By default it does not. */
  readonly auth?: ServerAuth;
  /** Signs cluster times. Members of a cluster share one. */
  readonly signer?: ClusterTimeSigner;
  /** How long routers look for a primary of it, in milliseconds; default 15,000. */
  readonly hostSelectionMs?: number | undefined;
  /** Whether it leaves users' data to routers, as one of several shards does. By default it does not. */
  readonly keepsToRouters?: () => boolean;
  /** Commands that the cluster answers for the member. */
  readonly clusterAnswer?: (request: CommandRequest) => Promise<Doc> | undefined;
}

function isSame(a: Binary, b: Binary): boolean {
  return a.toString('hex') === b.toString('hex');
}

/** What a shard reports of its cluster, without its id and the versions of its collections. */
function shardingState({ id, configServer }: MemberOptions): Doc {
  return doc(['enabled', true], ['configServer', configServer ?? ''], ['shardName', id]);
}

/** A replica set stores its block of user writes: a member applies what it has stored. */
function keepWriteBlock({ writeBlock }: Deployment, shard: ShardNode): void {
  const [store, collection] = [new ConfigStore(shard), 'user_writes_critical_sections'];
  writeBlock.keep = (note) => (note === undefined ? store.remove(collection, doc()) : store.put(collection, note));
}

/** A data-bearing node that listens on its port. */
export class ShardMember {
  private constructor(
    readonly id: string,
    readonly identity: NodeIdentity,
    readonly shard: ShardNode,
    readonly node: MemberNode,
    readonly server: WireServer,
    /** The users who can log in to it. */
    readonly realm: AccessRealm,
    /** How other nodes of the cluster reach it. */
    readonly link: MemberLink,
    /** Its faults. */
    readonly control: MemberControl,
  ) {}

  static async start(options: MemberOptions): Promise<ShardMember> {
    const started: { node?: ServedNode; control?: MemberControl } = {};
    const server = await WireServer.listen(options.address, options.port, () => started.node);
    const identity = new NodeIdentity(
      options.kind,
      options.address,
      server.port,
      options.setName,
      options.configServer,
      options.deployment,
    );
    const shard = new ShardNode({
      name: options.id,
      clock: options.clock,
      deployment: options.deployment,
      release: identity.release,
      setName: options.setName,
      host: options.address,
      port: server.port,
      ...(options.oplogBytesMax === undefined ? {} : { oplogBytesMax: options.oplogBytesMax }),
      ...(options.snapshotWindowSeconds === undefined ? {} : { snapshotWindowSeconds: options.snapshotWindowSeconds }),
      ...(options.noopIntervalMs === undefined ? {} : { noopIntervalMs: options.noopIntervalMs }),
    });
    const node = new MemberNode(
      identity,
      shard,
      () => shard.access.lastAppliedTime(),
      options.clock,
      (request) => started.control?.answer(request) ?? options.clusterAnswer?.(request),
    );
    const { failPoints, parameters } = node.nodeCommands;
    if (options.kind === 'shard')
      node.nodeCommands.addAnswers([
        ['shardingState', () => shardingState(options)],
        ['serverStatus', (request) => statusWithMove(identity, shard, request)],
      ]);
    holdAtFailPoints(shard, failPoints);
    if (options.kind !== 'config') options.deployment.writeBlock.members.push(shard);
    if (options.kind === 'replicaSet') keepWriteBlock(options.deployment, shard);
    parameters.onChange = (name, value) => shard.applyParameter(name, value);
    const link = new MemberLink(shard, identity, options.hostSelectionMs);
    started.control = new MemberControl(options.id, identity, server, failPoints, shard, () => link.break());
    const realm = await openRealm(
      shard,
      identity.release,
      options.auth ?? shardAuth(undefined),
      options.signer ?? new ClusterTimeSigner(options.clock),
    );
    if (options.kind !== 'shard') await keepSigningKey(shard, realm);
    await shard.run(internalRequest('config', doc(['create', 'transactions'])));
    const versions = new AccessDocuments(shard, 'system.version');
    await options.deployment.keepFeatureCompatibilityVersion((text) =>
      versions.put(doc(['_id', 'featureCompatibilityVersion'], ['version', text])),
    );
    started.node = guardNode(node, realm, {
      keepsToRouters: options.keepsToRouters ?? (() => false),
      namespaceOf: (db, uuid) => shard.access.collectionsOf(db).find((one) => isSame(one.uuid, uuid))?.namespace,
    });
    return new ShardMember(options.id, identity, shard, node, server, realm, link, started.control);
  }

  /** `setName/host:port`. */
  get connectionString(): string {
    return `${this.identity.setName}/${this.identity.host}`;
  }

  async close(): Promise<void> {
    await this.server.close();
    this.shard.close();
  }
}

/** Where fail points hold back what the shard does. */
function holdAtFailPoints(shard: ShardNode, failPoints: FailPoints): void {
  shard.holdCommitsAt(failPoints.get('hangBeforeCommitingTxn'));
  shard.holdMovesAt(failPoints.get('moveChunkHangAtStep4'));
  shard.holdClonesAt(failPoints.get('hangBeforeCloningData'));
  shard.holdBuildsAt(failPoints.get('hangAfterInitializingIndexBuild'));
}

/** `serverStatus`, which since 8.0 shows the move of a chunk that is under way (earlier releases were not seen to). */
async function statusWithMove(identity: NodeIdentity, shard: ShardNode, request: CommandRequest): Promise<Doc> {
  const status = await serverStatus(identity, request, () => shard.access.lastAppliedTime());
  const move = identity.version.atLeast(8, 0) ? shard.moveStatus : undefined;
  if (move !== undefined) docOf(status.get('sharding'))?.set('migrations', move);
  return status;
}
