import type { ClusterClock } from '../node/clock.js';
import type { CommandRequest } from '../node/command.js';
import type { Deployment } from '../node/deployment.js';
import type { Doc } from '../bson/value.js';
import { MemberNode } from '../handshake/member-node.js';
import { NodeIdentity, type NodeKind } from '../handshake/node-identity.js';
import { ShardNode } from '../shard/shard-node.js';
import { WireServer } from '../wire/wire-server.js';

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
  /** Commands that the cluster answers for the member. */
  readonly clusterAnswer?: (request: CommandRequest) => Promise<Doc> | undefined;
}

/** A data-bearing node that listens on its port. */
export class ShardMember {
  private constructor(
    readonly id: string,
    readonly identity: NodeIdentity,
    readonly shard: ShardNode,
    readonly node: MemberNode,
    readonly server: WireServer,
  ) {}

  static async start(options: MemberOptions): Promise<ShardMember> {
    const started: { node?: MemberNode } = {};
    const server = await WireServer.listen(options.address, options.port, () => {
      if (started.node === undefined) throw new Error('a connection came before the node was ready');
      return started.node;
    });
    const identity = new NodeIdentity(options.kind, options.address, server.port, options.setName, options.configServer, options.deployment);
    const shard = new ShardNode({
      name: options.id,
      clock: options.clock,
      deployment: options.deployment,
      setName: options.setName,
      host: options.address,
      port: server.port,
      ...(options.oplogBytesMax === undefined ? {} : { oplogBytesMax: options.oplogBytesMax }),
      ...(options.snapshotWindowSeconds === undefined ? {} : { snapshotWindowSeconds: options.snapshotWindowSeconds }),
      ...(options.noopIntervalMs === undefined ? {} : { noopIntervalMs: options.noopIntervalMs }),
    });
    const node = new MemberNode(identity, shard, () => shard.lastAppliedTime(), options.clock, options.clusterAnswer);
    started.node = node;
    return new ShardMember(options.id, identity, shard, node, server);
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
