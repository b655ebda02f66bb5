import { MongoClient, MongoNetworkError, ReadPreference, type ReadPreferenceMode } from 'mongodb';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { clientOptions, type ConnectionSettings, ClientRing, MemberClients } from './driver/clients.js';
import {
  displayHost,
  parseConnectionString,
  redirected,
  resolveSeeds,
  type ConnectionParts,
  type Redirection,
} from '@convoy/api/connection/connection-string';
import type { ClusterClient, NodeClient } from './node-client.js';
import { DriverNodeClient } from './driver/driver-node-client.js';
import {
  asConnectionError,
  connectionFailure,
  type LoginAndTls,
  RefusedClusterError,
  shardAdvice,
} from './connection-failure.js';
import { failureName } from './failure.js';
import type { Waits } from './calls-in-flight.js';
import { DirectRoleMissingError, directRoleRelease, probeShard } from './probe-shard.js';
import {
  listShards,
  nodeKind,
  readReleases,
  replicaSetId,
  shardedClusterId,
  shardServedBy,
  type NodeKind,
  type ShardAddress,
} from './topology.js';

/** Credentials for the shards themselves. */
interface ShardCredentials {
  user: string;
  password: string;
  authSource: string;
}

export interface OpenClusterOptions extends ConnectionSettings {
  /** Opens a client of every shard and tries to read through each. No effect on a replica set. */
  direct: boolean;
  shardCredentials?: ShardCredentials;
  /** Which members cursors read from; null for primaries. */
  readPreference?: ReadPreferenceMode | null;
  signal: AbortSignal;
  /** Shows the calls without an answer. */
  waits?: Waits | undefined;
}

/** Wraps a client, for fault injection in tests. */
type ClientWrapper = (client: NodeClient) => NodeClient;

interface Opening {
  name: string;
  parts: ConnectionParts;
  /** Shown in `directionMapping`. */
  displayHost: string;
  options: OpenClusterOptions;
  /** Which members cursors read from; null for primaries. */
  reads: ReadPreference | null;
  wrap: ClientWrapper;
}

/**
 * Connects to a cluster and detects its kind.
 * @param name `cluster0` or `cluster1`, for labels and descriptions
 * @param wrap wraps every client of the cluster
 * @throws ConvoyError `shardsNotReachable` (direct access only), and the subclass `RefusedClusterError` with
 * `unsupportedTopology`, `unsupportedServerVersion`, `invalidConfiguration` or `authenticationFailed`;
 * UnreachableClusterError if the cluster cannot be reached
 */
export async function openCluster(
  name: string,
  connectionString: string,
  options: OpenClusterOptions,
  wrap: ClientWrapper = (client) => client,
): Promise<ClusterClient> {
  const { parts: written, reads } = ownedOptions(parseConnectionString(connectionString), options.readPreference);
  const host = displayHost(connectionString);
  const parts = await resolveSeeds(written, MongoNetworkError).catch((error: unknown) => {
    throw asConnectionError(name, error, { ...loginAndTls(written), host });
  });
  const opening: Opening = { name, parts, displayHost: host, options, reads, wrap };
  const ring = seedRing(opening);
  const seeds = seedClient(opening, ring);
  try {
    const kind = await kindOfSeeds(opening, seeds);
    if (kind.kind === 'router') return await openSharded(opening, wrap(seeds));
    const setName = await requireReplicaSet(opening, seeds, kind, ring.host);
    await seeds.close();
    return await openReplicaSet(opening, setName);
  } catch (error) {
    await seeds.close();
    options.signal.throwIfAborted();
    throw asConnectionError(name, error, { ...loginAndTls(parts), host: ring.host });
  }
}

/**
 * Takes out of a connection string what is Convoy's to decide. Calls have limits of their own, and `timeoutMS` would
 * end one that takes longer in every repetition. Members are chosen by Convoy's setting, among those with the tags and
 * the staleness that the connection string asks for; where it reads primaries, these only kept it from connecting.
 */
function ownedOptions(
  parts: ConnectionParts,
  mode: ReadPreferenceMode | null = null,
): { parts: ConnectionParts; reads: ReadPreference | null } {
  const owned = new Set(['timeoutms', 'readpreference', 'readpreferencetags', 'maxstalenessseconds']);
  const given = [...parts.options];
  const rest = { ...parts, options: new URLSearchParams(given.filter(([name]) => !owned.has(name.toLowerCase()))) };
  if (mode === null || mode === 'primary') return { parts: rest, reads: null };
  const all = (wanted: string): string[] =>
    given.flatMap(([name, value]) => (name.toLowerCase() === wanted ? [value] : []));
  const tags = all('readpreferencetags').map((set) =>
    Object.fromEntries(set.split(',').flatMap((tag) => (tag === '' ? [] : [tag.split(':', 2) as [string, string]]))),
  );
  const [staleness] = all('maxstalenessseconds').map(Number);
  const limits = staleness === undefined ? {} : { maxStalenessSeconds: staleness };
  return { parts: rest, reads: new ReadPreference(mode, tags.length === 0 ? undefined : tags, limits) };
}

function loginAndTls({ userinfo, options, srv }: ConnectionParts): LoginAndTls {
  const tls = options.get('tls') ?? options.get('ssl');
  return {
    hasLogin: userinfo !== '' || options.has('authMechanism'),
    usesTls: tls === null ? srv : tls === 'true',
    usesCertificate: options.get('authMechanism') === 'MONGODB-X509',
  };
}

/**
 * The name of the replica set to open. Refuses a server alone, one that belongs to a sharded cluster but is no router,
 * and another set than the connection string names: Convoy would read or write a part of the cluster, or another one.
 * @throws RefusedClusterError `unsupportedTopology`
 */
async function requireReplicaSet(
  { name, parts, options: { signal } }: Opening,
  seeds: NodeClient,
  kind: Exclude<NodeKind, { kind: 'router' }>,
  host: string,
): Promise<string> {
  const refuse = (cause: string, advice: string): never => {
    throw new RefusedClusterError('unsupportedTopology', name, { host, cause, advice, isUnfit: true });
  };
  if (kind.kind === 'standalone')
    return refuse('this is a standalone server', 'Use a replica set or a sharded cluster.');
  const advice = 'Name the routers (mongos) of that cluster in the connection string.';
  if (kind.isConfigServer) return refuse('this is a config server of a sharded cluster, not a router', advice);
  const shard = await shardServedBy(seeds, { signal });
  if (shard !== null) return refuse(`this is the shard ${shard} of a sharded cluster, not a router`, advice);
  const wanted = parts.options.get('replicaSet');
  if (wanted === null || wanted === kind.setName) return kind.setName;
  return refuse(
    `this is the replica set ${kind.setName}, not the one that replicaSet names`,
    `Check the host, or set replicaSet=${kind.setName} in the connection string.`,
  );
}

/** Options about several seeds or about discovery: they do not apply to a single address. */
const oneAddress = { directConnection: 'true', replicaSet: null, loadBalanced: null } as const;

/** The seeds, used one at a time. */
function seedRing({ parts, options }: Opening): ClientRing {
  const makers = parts.hosts.map((host) => {
    const text = redirected(parts, { hosts: [host], options: oneAddress });
    return () => new MongoClient(text, clientOptions(options, parts.options));
  });
  return new ClientRing(makers);
}

/** The client of the routers, if the seeds are routers. */
function seedClient({ name, options, reads }: Opening, ring: ClientRing): NodeClient {
  return new DriverNodeClient({
    label: `${name} router`,
    ring,
    readPreference: reads,
    isRouter: true,
    waits: options.waits,
  });
}

/** Asks the seeds one after another until one answers; the client stays with that one. */
async function kindOfSeeds({ parts, options }: Opening, seeds: NodeClient): Promise<NodeKind> {
  for (let left = parts.hosts.length; ; left -= 1) {
    try {
      return await nodeKind(seeds, { signal: options.signal });
    } catch (error) {
      options.signal.throwIfAborted();
      if (left <= 1) throw error;
    }
  }
}

async function openSharded(opening: Opening, router: NodeClient): Promise<ClusterClient> {
  const { name, options, wrap } = opening;
  const call = { signal: options.signal };
  const shards = new Map<string, NodeClient>();
  const closeShards = () => Promise.all([...shards.values()].map((client) => client.close()));
  try {
    const releases = await readReleases(router, call);
    const clusterId = await shardedClusterId(router, call);
    const addresses = await listShards(router, call);
    if (options.direct) for (const address of addresses) shards.set(address.id, wrap(shardClient(opening, address)));
    await probeShards(name, shards, releases.version, options.signal);
    return {
      name,
      kind: 'sharded',
      ...releases,
      clusterId,
      displayHost: opening.displayHost,
      router,
      access: options.direct ? 'direct' : 'router',
      shardIds: addresses.map(({ id }) => id),
      shard: (id) => clientOf(shards, id, name),
      taskClient: (id) => (options.direct ? clientOf(shards, id, name) : router),
      close: async () => {
        await Promise.all([router.close(), closeShards()]);
      },
    };
  } catch (error) {
    await closeShards();
    throw error;
  }
}

async function openReplicaSet(opening: Opening, setName: string): Promise<ClusterClient> {
  const { name, options, wrap, parts } = opening;
  // With directConnection (for example through a tunnel), the members' own names cannot be reached.
  const alone = parts.options.get('directConnection') === 'true';
  const redirection = { hosts: parts.hosts, options: alone ? {} : { replicaSet: setName } };
  const client = wrap(
    alone
      ? memberClient(`${name} member`, opening, redirection)
      : setClient(`${name} replica set`, opening, redirection),
  );
  const call = { signal: options.signal };
  try {
    const releases = await readReleases(client, call);
    const clusterId = await replicaSetId(client, call);
    const shards = new Map([[setName, client]]);
    return {
      name,
      kind: 'replicaSet',
      ...releases,
      clusterId,
      displayHost: opening.displayHost,
      router: client,
      access: 'direct',
      shardIds: [setName],
      shard: (id) => clientOf(shards, id, name),
      taskClient: (id) => clientOf(shards, id, name),
      close: () => client.close(),
    };
  } catch (error) {
    await client.close();
    throw error;
  }
}

function shardClient(opening: Opening, address: ShardAddress): NodeClient {
  const { shardCredentials } = opening.options;
  return setClient(`${opening.name} ${address.id}`, opening, {
    hosts: address.hosts,
    options: { replicaSet: address.setName, directConnection: null, loadBalanced: null },
    ...(shardCredentials === undefined ? {} : { credentials: shardCredentials }),
  });
}

function memberClient(label: string, { parts, options }: Opening, redirection: Redirection): NodeClient {
  const text = redirected(parts, redirection);
  return new DriverNodeClient({
    label,
    ring: new ClientRing([() => new MongoClient(text, clientOptions(options, parts.options))]),
    readPreference: null,
    waits: options.waits,
  });
}

/** A client that follows a replica set's primary, and reads from other members if configured. */
function setClient(label: string, { parts, options, reads }: Opening, redirection: Redirection): NodeClient {
  const connect = (text: string) => new MongoClient(text, clientOptions(options, parts.options));
  const ring = new ClientRing([() => connect(redirected(parts, redirection))]);
  const { waits } = options;
  if (reads === null) return new DriverNodeClient({ label, ring, readPreference: null, waits });
  const toMember = (host: string) => connect(redirected(parts, { ...redirection, hosts: [host], options: oneAddress }));
  return new DriverNodeClient({
    label,
    ring,
    readPreference: reads,
    members: new MemberClients(reads, toMember),
    waits,
  });
}

/** Shards that one description names. */
const shardsNamedMax = 20;

/**
 * Tries to read through every shard.
 * @throws ConvoyError `shardsNotReachable` that names each shard that cannot be read, with its host and the cause
 */
async function probeShards(
  name: string,
  shards: ReadonlyMap<string, NodeClient>,
  [release]: ClusterClient['version'],
  signal: AbortSignal,
): Promise<void> {
  const ids = [...shards.keys()];
  const probed = await Promise.allSettled(
    [...shards.values()].map((client) => probeShard(client, release, { signal })),
  );
  signal.throwIfAborted();
  const failed = probed.flatMap((one, at) =>
    one.status === 'rejected' ? [{ id: ids[at] ?? '', error: one.reason as unknown }] : [],
  );
  if (failed.length === 0) return;
  const named = failed
    .slice(0, shardsNamedMax)
    .map(({ id, error }) =>
      [`Shard ${id} of ${name} cannot be read directly: ${shardFailure(error)}.`, shardAdvice(error)]
        .join(' ')
        .trimEnd(),
    );
  const more = failed.length - named.length;
  const reading =
    'give credentials of a user who may find, changeStream and listIndexes on every database and useUUID on ' +
    'the cluster';
  const role =
    release < directRoleRelease
      ? ''
      : ', and has the role directShardOperations there: db.getSiblingDB("admin").grantRolesToUser(USER, ' +
        '["directShardOperations"])';
  const description =
    `${named.join(' ')}${more > 0 ? ` ${more} more cannot, either.` : ''} ` +
    `Make ${failed.length === 1 ? 'it' : 'them'} reachable and ${reading}${role}.`;
  throw new ConvoyError('shardsNotReachable', description, { cause: failed[0]?.error });
}

function shardFailure(error: unknown): string {
  if (error instanceof DirectRoleMissingError) return 'its user lacks the role directShardOperations';
  const failure = connectionFailure(error);
  if (failure === null) return failureName(error);
  return failure.host === null ? failure.cause : `${failure.host}: ${failure.cause}`;
}

function clientOf(shards: ReadonlyMap<string, NodeClient>, id: string, name: string): NodeClient {
  const client = shards.get(id);
  if (client === undefined) throw new ConvoyError('topologyChanged', `${name} no longer has the shard ${id}.`);
  return client;
}
