import { type AuthSetting, clusterAuth } from '../access/auth-options.js';
import type { Doc } from '../bson/value.js';
import { ClusterClock } from '../node/clock.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { Deployment } from '../node/deployment.js';
import { defaultVersion, type ReleaseSeries, ServerVersion } from '../node/server-version.js';
import type { MemberControl } from './member-control.js';
import { ShardMember } from './shard-member.js';

export interface ReplicaSetOptions {
  readonly setName?: string;
  /** 0, the default, takes any free port. */
  readonly port?: number;
  readonly host?: string;
  /** Bytes of oplog that are kept. */
  readonly oplogBytesMax?: number;
  /** Seconds of history that snapshot reads reach back. */
  readonly snapshotWindowSeconds?: number;
  /** Release series that the member behaves as; default 8.0. */
  readonly version?: ReleaseSeries;
  /** Milliseconds between no-ops on an idle member; default 1,000. */
  readonly noopIntervalMs?: number;
  /** Access control, off by default. */
  readonly auth?: AuthSetting;
}

export interface ReplicaSet {
  /** `host:port` of the only member. */
  readonly host: string;
  readonly connectionString: string;
  readonly member: ShardMember;
  /** The faults of the member. */
  readonly control: MemberControl;
  close(): Promise<void>;
}

/** Starts a plain replica set of one member. */
export async function startWholeReplicaSet(options: ReplicaSetOptions = {}): Promise<ReplicaSet> {
  const setName = options.setName ?? 'rs0';
  const member = await ShardMember.start({
    kind: 'replicaSet',
    id: setName,
    setName,
    address: options.host ?? '127.0.0.1',
    port: options.port ?? 0,
    clock: new ClusterClock(),
    deployment: new Deployment(options.version === undefined ? defaultVersion : ServerVersion.parse(options.version)),
    configServer: undefined,
    oplogBytesMax: options.oplogBytesMax,
    snapshotWindowSeconds: options.snapshotWindowSeconds,
    noopIntervalMs: options.noopIntervalMs,
    clusterAnswer: unshardedAnswer,
    auth: clusterAuth(options.auth),
  });
  return {
    host: member.identity.host,
    connectionString: `mongodb://${member.identity.host}/?replicaSet=${setName}`,
    member,
    control: member.control,
    close: () => member.close(),
  };
}

/** Commands of sharded clusters of which a plain member knows only the name. */
function unshardedAnswer(request: CommandRequest): Promise<Doc> | undefined {
  if (request.name !== 'flushRouterConfig') return undefined;
  return Promise.reject(new CommandError(203, 'ShardingStateNotInitialized', 'Sharding is not enabled'));
}
