import { Int32, Long, ObjectId } from 'bson';
import type { Doc } from '../bson/value.js';
import { doc } from '../node/doc-fields.js';
import { Deployment } from '../node/deployment.js';
import { defaultVersion, type ServerVersion } from '../node/server-version.js';

export type NodeKind = 'router' | 'shard' | 'config' | 'replicaSet';

/** The election of the only member of a set, in its first term. */
export const electionId = ObjectId.createFromHexString('7fffffff0000000000000001');
export const electionTerm = Long.fromInt(1);

/** Who a node is, for its answers to handshakes and diagnostic commands. */
export class NodeIdentity {
  readonly processId = new ObjectId();
  readonly startedMs = Date.now();
  /** Changes of the topology this node has seen; only the first state exists. */
  readonly topologyCounter = Long.fromInt(6);
  /** Commands answered, by the counter's name in `serverStatus.opcounters`. */
  readonly counters = new Map<string, number>();

  constructor(
    readonly kind: NodeKind,
    readonly address: string,
    readonly port: number,
    /** Replica set name; empty for a router. */
    readonly setName: string,
    /** `set/host:port` of the config server, for members of a sharded cluster. */
    readonly configServer: string | undefined,
    readonly deployment: Deployment = new Deployment(defaultVersion),
  ) {}

  /** The release it behaves as. */
  get version(): ServerVersion {
    return this.deployment.version;
  }

  /** `address:port`. */
  get host(): string {
    return `${this.address}:${this.port}`;
  }

  get topologyVersion(): Doc {
    return doc(['processId', this.processId], ['counter', this.topologyCounter]);
  }

  /** Process name as `serverStatus` gives it. */
  get processName(): string {
    return this.kind === 'router' ? 'mongos' : 'mongod';
  }
}

export const maxBsonObjectSize = new Int32(16_777_216);
