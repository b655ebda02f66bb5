import { MongoClient, MongoServerError, type Document } from 'mongodb';
import { pollUntil } from '../process/poll-until.js';
import { addresses, loginAs, makeUsers } from './access-control.js';
import type { TestCluster, TestClusterOptions } from './test-cluster.js';

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
  'kind' | 'connectionString' | 'connectionStringOf' | 'shardIds' | 'shardConnectionString' | 'members'
>;

/** What a cluster of real servers is made of. */
export type Shape = Pick<TestClusterOptions, 'topology' | 'withUsers' | 'routers' | 'members'>;

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

async function startReplicaSet(launch: Launch, { withUsers = false, members = 1 }: Shape): Promise<Described> {
  const hosts = await startSet(launch, 'rs0', [], members);
  const address = addressOf('rs0', hosts);
  if (withUsers) await makeUsers(address, false);
  return {
    kind: 'replicaSet',
    ...addresses(`mongodb://${hosts.join(',')}/?replicaSet=rs0`, withUsers),
    shardIds: ['rs0'],
    shardConnectionString: () => (withUsers ? loginAs(address, 'root') : address),
    members: new Map([['rs0', hosts]]),
  };
}

async function startSharded(
  launch: Launch,
  shardCount: number,
  { withUsers = false, routers: routerCount = 1, members = 1 }: Shape,
): Promise<Described> {
  const sets = Array.from({ length: shardCount }, (_, index) => `s${index}`);
  const [[config], shards] = await Promise.all([
    startSet(launch, 'cfg', ['--configsvr'], 1),
    Promise.all(sets.map((set) => startSet(launch, set, ['--shardsvr'], members))),
  ]);
  const routerArguments = ['--configdb', `cfg/${config}`, '--setParameter', 'enableTestCommands=1'];
  const names = Array.from({ length: routerCount }, (_, index) => (index === 0 ? 'router' : `router${index}`));
  const routers = await Promise.all(names.map((name) => launch(name, 'mongos', routerArguments)));
  const bare = `mongodb://${routers.join(',')}/`;
  const shardAddresses = shards.map((hosts, index) => addressOf(`s${index}`, hosts));
  if (withUsers)
    await Promise.all([makeUsers(bare, false), ...shardAddresses.map((address) => makeUsers(address, true))]);
  const reached = addresses(bare, withUsers);
  for (const [index, hosts] of shards.entries()) {
    const addShard = `s${index}/${hosts.join(',')}`;
    await adminCommand(reached.connectionStringOf('root'), { addShard, name: `shard${index}` });
  }
  const shardAddress = (id: string): string => shardAddresses[Number(id.slice('shard'.length))] ?? '';
  return {
    kind: 'sharded',
    ...reached,
    shardIds: shards.map((_, index) => `shard${index}`),
    shardConnectionString: (id) => (withUsers ? loginAs(shardAddress(id), 'root') : shardAddress(id)),
    members: new Map(shards.map((hosts, index) => [`shard${index}`, hosts])),
  };
}

/** A replica set; returns its members' hosts, the primary first, once all are in their places. */
async function startSet(launch: Launch, setName: string, role: string[], size: number): Promise<string[]> {
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
    await adminCommand(directTo(host), { replSetInitiate: config });
  } catch (error) {
    if (!(error instanceof MongoServerError && error.code === alreadyInitialized)) throw error;
  }
  for (const [index, member] of hosts.entries())
    await pollUntil(`${setName} has its members`, primaryWithin_ms, async () => {
      const hello = await adminCommand(directTo(member), { hello: 1 });
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
function addressOf(setName: string, hosts: readonly string[]): string {
  const [first = '', ...others] = hosts;
  return others.length === 0 ? directTo(first) : `mongodb://${hosts.join(',')}/?replicaSet=${setName}`;
}

function directTo(host: string): string {
  return `mongodb://${host}/?directConnection=true`;
}
