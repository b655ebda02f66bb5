import { type Document, MongoNetworkError } from 'mongodb';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import {
  type ConnectionParts,
  parseConnectionString,
  redirected,
  type Redirection,
  resolveSeeds,
} from '@convoy/api/connection/connection-string';
import { Server } from './server.js';
import type { Topology, Version } from './probe.js';

/** A login for the shards themselves, if it differs from that of the routers. */
interface ShardLogin {
  readonly user: string;
  readonly password: string;
  readonly authSource: string;
}

/** The probed servers. */
export interface Reached {
  readonly topology: Topology;
  readonly version: Version;
  /** The router, or the primary of the replica set. */
  readonly front: Server;
  /** Direct connections to the primaries of the first two shards, if they answer; for a replica set, to itself. */
  readonly shards: readonly Server[];
  /** Ids of all shards; none for a replica set. */
  readonly shardIds: readonly string[];
  /** Why the shards cannot be reached directly. */
  readonly withoutShards: string;
  /** Whether a user is logged in; without one, there is no access control. */
  readonly hasUsers: boolean;
  /** `host:port` of the servers, by which recordings identify them. */
  readonly hosts: ReadonlyMap<string, string>;
  /** Another login to one of the servers. */
  loginTo(server: Server, login: ShardLogin): Server;
  close(): Promise<void>;
}

/** Two shards are enough for every sentence. */
const shardsProbed = 2;

/**
 * Connects to a cluster by its connection string, and to its shards.
 * @throws ConvoyError `invalidConfiguration`, `unsupportedTopology`; the driver's errors if nothing answers or the
 * login is refused
 */
export async function reach(
  connectionString: string,
  shardLogin: ShardLogin | undefined,
  signal: AbortSignal,
): Promise<Reached> {
  const parts = await resolveSeeds(parseConnectionString(connectionString), MongoNetworkError);
  const front = new Server('router', redirected(parts, { hosts: parts.hosts, options: {} }));
  try {
    const hello = await answered(front, { hello: 1 }, signal);
    const { versionArray } = (await answered(front, { buildInfo: 1 }, signal)) as { versionArray: number[] };
    const [major = 0, minor = 0, patch = 0] = versionArray;
    const status = await answered(front, { connectionStatus: 1 }, signal);
    const users = (status.authInfo as { authenticatedUsers: unknown[] }).authenticatedUsers;
    const known = { front, version: [major, minor, patch] as const, hasUsers: users.length > 0 };
    if (hello.msg === 'isdbgrid') return await reachShards(parts, known, shardLogin, signal);
    if (typeof hello.setName === 'string') return replicaSet(parts, known, hello);
    throw new ConvoyError(
      'unsupportedTopology',
      'This is a standalone server, which is not supported. Use a replica set or a sharded cluster.',
    );
  } catch (error) {
    await front.close();
    throw error;
  }
}

type Known = Pick<Reached, 'front' | 'version' | 'hasUsers'>;

function replicaSet(parts: ConnectionParts, known: Known, hello: Document): Reached {
  const { front } = known;
  return {
    ...known,
    topology: 'replicaSet',
    shards: [front],
    shardIds: [],
    withoutShards: '',
    hosts: new Map([[String(hello.me), 'member'], ...parts.hosts.map((host) => [host, 'member'] as const)]),
    loginTo: (_, login) =>
      new Server('router', redirected(parts, { hosts: parts.hosts, options: {}, credentials: login })),
    close: () => front.close(),
  };
}

async function reachShards(
  parts: ConnectionParts,
  known: Known,
  login: ShardLogin | undefined,
  signal: AbortSignal,
): Promise<Reached> {
  const listed = (await answered(known.front, { listShards: 1 }, signal)).shards as { _id: string; host: string }[];
  const redirections = new Map(listed.slice(0, shardsProbed).map(({ _id, host }) => [_id, redirectionTo(host)]));
  const shards = [...redirections].map(([id, redirection]) => {
    return new Server(id, redirected(parts, { ...redirection, ...(login !== undefined && { credentials: login }) }));
  });
  const refusals = await Promise.all(shards.map((shard) => refusalOf(shard, signal)));
  const withoutShards = refusals.find((refusal) => refusal !== null) ?? null;
  const toShards = [...redirections].flatMap(([id, { hosts }]) => hosts.map((host) => [host, id] as const));
  return {
    ...known,
    topology: 'sharded',
    shards: withoutShards === null ? shards : [],
    shardIds: listed.map(({ _id }) => _id),
    withoutShards: withoutShards ?? '',
    hosts: new Map([...parts.hosts.map((host) => [host, 'router'] as const), ...toShards]),
    loginTo: (server, as) =>
      new Server(
        server.name,
        redirected(parts, {
          ...(redirections.get(server.name) ?? { hosts: parts.hosts, options: {} }),
          credentials: as,
        }),
      ),
    close: async () => {
      await Promise.all([known.front, ...shards].map((server) => server.close()));
    },
  };
}

/** @param host as `listShards` returns it: `name/host:port,host:port` */
function redirectionTo(host: string): Redirection {
  const [setName = '', hosts = ''] = host.split('/');
  return { hosts: hosts.split(','), options: { replicaSet: setName, directConnection: null, loadBalanced: null } };
}

/** Why a shard cannot be asked directly; null if it can. Names no address and no user. */
async function refusalOf(shard: Server, signal: AbortSignal): Promise<string | null> {
  try {
    const reply = await shard.answer('admin', { hello: 1 }, { signal });
    return reply.ok === 1 ? null : refusalText(reply);
  } catch (error) {
    signal.throwIfAborted();
    return error instanceof Error ? error.name : 'no answer';
  }
}

const authenticationFailed = 18;

function refusalText({ code, codeName }: Record<string, unknown>): string {
  return `${String(codeName)} (${String(code)})`;
}

async function answered(server: Server, command: Document, signal: AbortSignal): Promise<Document> {
  const reply = await server.answer('admin', command, { signal });
  if (reply.ok === 1) return reply;
  if (reply.code === authenticationFailed) throw new ConvoyError('authenticationFailed');
  throw new ConvoyError(
    'permissionMissing',
    `The login may not ${Object.keys(command)[0] ?? ''}. Grant it, for example by the role clusterMonitor.`,
  );
}
