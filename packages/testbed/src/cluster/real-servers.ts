import { MongoClient, MongoServerError, type Document } from 'mongodb';
import { pollUntil } from '../process/poll-until.js';
import { addresses, loginAs, makeUsers } from './access-control.js';
import type { TestCluster } from './test-cluster.js';

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

/** Starts a server on a free port of 127.0.0.1; returns its `host:port` once it accepts connections. */
export type Launch = (server: string, program: 'mongod' | 'mongos', args: readonly string[]) => Promise<string>;

/** The parts of a cluster, whatever started its servers. */
export type Described = Pick<
  TestCluster,
  'kind' | 'connectionString' | 'connectionStringOf' | 'shardIds' | 'shardConnectionString'
>;

/** Arguments of every mongod: small caches, and the requested oplog size. */
export function storageArguments(dataPath: string, oplogBytes: number | undefined): string[] {
  const oplogMegabytes = oplogBytes === undefined ? oplogMegabytesDefault : Math.ceil(oplogBytes / megabyte);
  const args = ['--dbpath', dataPath, '--wiredTigerCacheSizeGB', cacheSizeGB, '--oplogSize', String(oplogMegabytes)];
  return oplogBytes === undefined ? args : [...args, '--syncdelay', secondsBetweenCheckpoints];
}

/**
 * Starts a cluster's servers, one member per replica set, and connects them.
 * @param withUsers creates the users of `access-control.ts`; needs servers with a key file
 */
export function startServers(
  launch: Launch,
  topology: { shards: number } | 'replicaSet',
  withUsers = false,
  routers = 1,
): Promise<Described> {
  return topology === 'replicaSet'
    ? startReplicaSet(launch, withUsers)
    : startSharded(launch, topology.shards, withUsers, routers);
}

async function startReplicaSet(launch: Launch, withUsers: boolean): Promise<Described> {
  const host = await startSet(launch, 'rs0', []);
  if (withUsers) await makeUsers(directTo(host));
  return {
    kind: 'replicaSet',
    ...addresses(`mongodb://${host}/?replicaSet=rs0`, withUsers),
    shardIds: ['rs0'],
    shardConnectionString: () => (withUsers ? loginAs(directTo(host), 'root') : directTo(host)),
  };
}

async function startSharded(
  launch: Launch,
  shardCount: number,
  withUsers: boolean,
  routerCount: number,
): Promise<Described> {
  const [config, shards] = await Promise.all([
    startSet(launch, 'cfg', ['--configsvr']),
    Promise.all(Array.from({ length: shardCount }, (_, index) => startSet(launch, `s${index}`, ['--shardsvr']))),
  ]);
  const routerArguments = ['--configdb', `cfg/${config}`, '--setParameter', 'enableTestCommands=1'];
  const names = Array.from({ length: routerCount }, (_, index) => (index === 0 ? 'router' : `router${index}`));
  const routers = await Promise.all(names.map((name) => launch(name, 'mongos', routerArguments)));
  const bare = `mongodb://${routers.join(',')}/`;
  if (withUsers) await Promise.all([bare, ...shards.map(directTo)].map(makeUsers));
  const reached = addresses(bare, withUsers);
  for (const [index, host] of shards.entries()) {
    await adminCommand(reached.connectionStringOf('root'), { addShard: `s${index}/${host}`, name: `shard${index}` });
  }
  const shardAddress = (id: string): string => directTo(shards[Number(id.slice('shard'.length))] ?? '');
  return {
    kind: 'sharded',
    ...reached,
    shardIds: shards.map((_, index) => `shard${index}`),
    shardConnectionString: (id) => (withUsers ? loginAs(shardAddress(id), 'root') : shardAddress(id)),
  };
}

/** A replica set of one member; returns its host once it is primary. */
async function startSet(launch: Launch, setName: string, role: string[]): Promise<string> {
  const parameters = ['--setParameter', 'periodicNoopIntervalSecs=1', '--setParameter', 'enableTestCommands=1'];
  const host = await launch(setName, 'mongod', [...role, '--replSet', setName, ...parameters]);
  const members = [{ _id: 0, host }];
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
  await pollUntil(`${setName} has a primary`, primaryWithin_ms, async () => {
    const hello = await adminCommand(directTo(host), { hello: 1 });
    return hello['isWritablePrimary'] === true;
  });
  return host;
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

function directTo(host: string): string {
  return `mongodb://${host}/?directConnection=true`;
}
