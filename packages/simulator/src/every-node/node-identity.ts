import { Int32, Long, ObjectId } from 'bson';
import type { Doc } from '../bson/value.js';
import { Deployment } from '../node/deployment.js';
import { doc } from '../node/doc-fields.js';
import { NodeCondition } from '../node/node-condition.js';
import { NodeRelease } from '../node/node-release.js';
import { defaultVersion, type ServerVersion } from '../node/server-version.js';
import { ReplicaRole } from './replica-role.js';

export type NodeKind = 'router' | 'shard' | 'config' | 'replicaSet';

/** The first term of a set, used for all writes before a step-down. */
export const electionTerm = Long.fromInt(1);

/**
 * The initial counter of a node's topology version. A router counts nothing. A member counts its initiation, its
 * election and the steps between. Members of clusters also count the change of their configuration for the implicit
 * write concern.
 */
const topologyChanges: Readonly<Record<NodeKind, number>> = { router: 0, replicaSet: 6, shard: 9, config: 9 };

/** Since 8.0 the configuration of shards does not change while they are added. */
function setUpChanges(kind: NodeKind, version: ServerVersion): number {
  return topologyChanges[kind] - (kind === 'shard' && version.atLeast(8, 0) ? 1 : 0);
}

/** The identity of a node, for its answers about itself. */
export class NodeIdentity {
  readonly condition = new NodeCondition();
  /** Its release. */
  readonly release: NodeRelease;
  /** For members of a set. */
  readonly role: ReplicaRole;
  #processId = new ObjectId();
  #startedMs = Date.now();
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
  ) {
    this.release = new NodeRelease(deployment);
    this.role = new ReplicaRole(this.condition, setUpChanges(kind, deployment.version));
  }

  /** The release of its program. */
  get version(): ServerVersion {
    return this.release.binary;
  }

  /** `address:port`. */
  get host(): string {
    return `${this.address}:${this.port}`;
  }

  get topologyVersion(): Doc {
    return doc(['processId', this.#processId], ['counter', this.role.counter]);
  }

  /** When the process was started, in milliseconds since 1970. */
  get startedMs(): number {
    return this.#startedMs;
  }

  /** A new process replaces the one that ended. */
  restart(): void {
    this.#processId = new ObjectId();
    this.#startedMs = Date.now();
    this.counters.clear();
    this.role.restart();
  }

  /** Process name in `serverStatus`. */
  get processName(): string {
    return this.kind === 'router' ? 'mongos' : 'mongod';
  }
}

export const maxBsonObjectSize = new Int32(16_777_216);
