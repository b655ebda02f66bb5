import { MongoClient, MongoServerError, type Document } from 'mongodb';
import { pollUntil } from '../process/poll-until.js';
import { addresses, configShardId, loginAs, makeUsers } from './access-control.js';
import { withTls } from './server-tls.js';
import type { TestCluster, TestClusterOptions, TestTls } from './test-cluster.js';

/** Log line of a mongod or mongos that accepts connections (structured log of 4.4 and later). */
export const waitingForConnections = /Waiting for connections/;
/** An election with one member takes about `electionTimeoutMillis`. */
const primaryWithin_ms = 30_000;
/** Error of `replSetInitiate` on an existing set. */
const alreadyInitialized = 23;
/** Keeps a cluster of two shards near 600 MB. */
const cacheSizeGB = '0.5';
const oplogMegabytesDefault = 1024;
const megabyte = 2 ** 20;
/**
 * A server keeps everything since its last checkpoint; with the default of one per minute a small oplog would exceed
 * its size.
 */
const secondsBetweenCheckpoints = '1';
/** A member's journal takes 200 MB by default before it has any data, and ten members run in a test of two clusters. */
const journalGrows = 'log=(prealloc=false),file_extend=(log=4MB)';

/** Starts a server on a free port of 127.0.0.1; returns its `host:port` once it accepts connections. */
export type Launch = (server: string, program: 'mongod' | 'mongos', args: readonly string[]) => Promise<string>;

/** The parts of a cluster, whatever started its servers. */
export type Described = Pick<
  TestCluster,
  | 'kind'
  | 'connectionString'
  | 'connectionStringOf'
  | 'shardIds'
  | 'shardConnectionString'
  | 'configConnectionString'
  | 'configHosts'
  | 'members'
>;

/** What a cluster of real servers is made of. */
export type Shape = Pick<
  TestClusterOptions,
  'topology' | 'withUsers' | 'routers' | 'members' | 'configMembers' | 'configShard' | 'tls'
>;

/** Arguments of every mongod: small caches, and the requested oplog size. */
export function storageArguments(dataPath: string, oplogBytes: number | undefined): string[] {
  const oplogMegabytes = oplogBytes === undefined ? oplogMegabytesDefault : Math.ceil(oplogBytes / megabyte);
  const engine = ['--wiredTigerCacheSizeGB', cacheSizeGB, '--wiredTigerEngineConfigString', journalGrows];
  const args = ['--dbpath', dataPath, ...engine, '--oplogSize', String(oplogMegabytes)];
  return oplogBytes === undefined ? args : [...args, '--syncdelay', secondsBetweenCheckpoints];
}

/**
 * Starts a cluster's servers, and connects them.
 * @param shape with users, the servers need a key file, and get the users of `access-control.ts`
 */
export function startServers(launch: Launch, shape: Shape): Promise<Described> {
  const { topology } = shape;
  return topology === 'replicaSet' ? startReplicaSet(launch, shape) : startSharded(launch, topology.shards, shape);
}

async function startReplicaSet(launch: Launch, { withUsers = false, members = 1, tls }: Shape): Promise<Described> {
  const hosts = await startSet(launch, { name: 'rs0', role: [], size: members, tls });
  const address = addressOf('rs0', hosts, tls);
  if (withUsers) await makeUsers(address, false);
  return {
    kind: 'replicaSet',
    ...addresses(withTls(`mongodb://${hosts.join(',')}/?replicaSet=rs0`, tls), withUsers),
    shardIds: ['rs0'],
    shardConnectionString: () => (withUsers ? loginAs(address, 'root') : address),
    members: new Map([['rs0', hosts]]),
  };
}

async function startSharded(launch: Launch, shardCount: number, shape: Shape): Promise<Described> {
  const { withUsers = false, members = 1, configMembers = 1, configShard = false, tls } = shape;
  const sets = Array.from({ length: configShard ? shardCount - 1 : shardCount }, (_, index) => `s${index}`);
  const [configs, shards] = await Promise.all([
    startSet(launch, { name: 'cfg', role: ['--configsvr'], size: configMembers, tls }),
    Promise.all(sets.map((name) => startSet(launch, { name, role: ['--shardsvr'], size: members, tls }))),
  ]);
  const bare = await startRouters(launch, configs, shape);
  const config = addressOf('cfg', configs, tls);
  const shardAddresses = new Map(shards.map((hosts, index) => [`shard${index}`, addressOf(`s${index}`, hosts, tls)]));
  // The users of the config server are those of the cluster.
  if (withUsers)
    await Promise.all([
      makeUsers(bare, configShard),
      ...[...shardAddresses.values()].map((address) => makeUsers(address, true)),
    ]);
  const reached = addresses(bare, withUsers);
  const root = reached.connectionStringOf('root');
  for (const [index, hosts] of shards.entries())
    await adminCommand(root, { addShard: `s${index}/${hosts.join(',')}`, name: `shard${index}` });
  if (configShard) await adminCommand(root, { transitionFromDedicatedConfigServer: 1 });
  const all = new Map(shards.map((hosts, index) => [`shard${index}`, hosts]));
  if (configShard) shardAddresses.set(configShardId, config);
  if (configShard) all.set(configShardId, configs);
  const asRoot = (address: string): string => (withUsers ? loginAs(address, 'root') : address);
  return {
    kind: 'sharded',
    ...reached,
    shardIds: [...all.keys()],
    shardConnectionString: (id) => asRoot(shardAddresses.get(id) ?? ''),
    configConnectionString: asRoot(config),
    configHosts: configs,
    members: all,
  };
}

/** Starts the routers of a cluster; returns the connection string that names all of them. */
async function startRouters(
  launch: Launch,
  configs: readonly string[],
  { routers: count = 1, tls }: Shape,
): Promise<string> {
  const args = ['--configdb', `cfg/${configs.join(',')}`, '--setParameter', 'enableTestCommands=1'];
  const names = Array.from({ length: count }, (_, index) => (index === 0 ? 'router' : `router${index}`));
  const routers = await Promise.all(names.map((name) => launch(name, 'mongos', args)));
  return withTls(`mongodb://${routers.join(',')}/`, tls);
}

interface SetOptions {
  readonly name: string;
  /** Arguments that say what it is for. */
  readonly role: readonly string[];
  readonly size: number;
  readonly tls: TestTls | undefined;
}

/** A replica set; returns its members' hosts, the primary first, once all are in their places. */
async function startSet(launch: Launch, { name: setName, role, size, tls }: SetOptions): Promise<string[]> {
  const parameters = ['--setParameter', 'periodicNoopIntervalSecs=1', '--setParameter', 'enableTestCommands=1'];
  const servers = Array.from({ length: size }, (_, index) => (index === 0 ? setName : `${setName}-${index}`));
  const hosts = await Promise.all(
    servers.map((server) => launch(server, 'mongod', [...role, '--replSet', setName, ...parameters])),
  );
  const [host = ''] = hosts;
  const members = hosts.map((member, index) => ({ _id: index, host: member, priority: index === 0 ? 2 : 1 }));
  const config = {
    _id: setName,
    ...(role.includes('--configsvr') && { configsvr: true }),
    members,
    settings: { electionTimeoutMillis: 1000 },
  };
  try {
    await adminCommand(directTo(host, tls), { replSetInitiate: config });
  } catch (error) {
    if (!(error instanceof MongoServerError && error.code === alreadyInitialized)) throw error;
  }
  for (const [index, member] of hosts.entries())
    await pollUntil(`${setName} has its members`, primaryWithin_ms, async () => {
      const hello = await adminCommand(directTo(member, tls), { hello: 1 });
      return hello[index === 0 ? 'isWritablePrimary' : 'secondary'] === true;
    });
  return hosts;
}

/** Runs one command on the database `admin`, through a client of its own. */
export async function adminCommand(connectionString: string, command: Document): Promise<Document> {
  const client = new MongoClient(connectionString);
  try {
    return await client.db('admin').command(command);
  } finally {
    await client.close();
  }
}

/** Reaches the only member directly, of several the one that is primary. */
function addressOf(setName: string, hosts: readonly string[], tls: TestTls | undefined): string {
  const [first = '', ...others] = hosts;
  return others.length === 0
    ? directTo(first, tls)
    : withTls(`mongodb://${hosts.join(',')}/?replicaSet=${setName}`, tls);
}

function directTo(host: string, tls: TestTls | undefined): string {
  return withTls(`mongodb://${host}/?directConnection=true`, tls);
}
