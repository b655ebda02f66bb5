import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { MongoClient, MongoServerError, type Document } from 'mongodb';
import { Child } from '../process/child.js';
import { freePort } from '../process/free-port.js';
import { pollUntil } from '../process/poll-until.js';
import { serverVersion } from './server-version.js';
import type { TestCluster, TestClusterOptions } from './test-cluster.js';

/** A mongod writes this line once it accepts connections (structured log of 4.4 and later). */
const waitingForConnections = /Waiting for connections/;
const readyWithin_ms = 60_000;
/** An election among one member takes about as long as `electionTimeoutMillis`. */
const primaryWithin_ms = 30_000;
/** `replSetInitiate` on a set that exists already. */
const alreadyInitialized = 23;
/** Keeps a cluster of two shards near 600 MB. */
const cacheSizeGB = '0.5';
const oplogSizeMB = '1024';

interface Member {
  child: Child;
  host: string;
}

/** A cluster of `mongod` and `mongos` processes from `binaries`, one member per replica set. */
export async function startBinariesCluster({ name, topology, folder }: TestClusterOptions, binaries: string): Promise<TestCluster> {
  const children: Child[] = [];
  const launch = async (server: string, program: 'mongod' | 'mongos', args: string[]): Promise<Member> => {
    const port = await freePort();
    const dataPath = folder.file(`${name}-${server}`);
    if (program === 'mongod') {
      mkdirSync(dataPath);
      args.push('--dbpath', dataPath, '--wiredTigerCacheSizeGB', cacheSizeGB, '--oplogSize', oplogSizeMB);
    }
    const child = await Child.start({
      name: `${name} ${server}`,
      command: join(binaries, program),
      args: [...args, '--port', String(port), '--bind_ip', '127.0.0.1'],
      ready: waitingForConnections,
      readyWithin_ms,
      logFile: folder.file(`${name}-${server}.log`),
    });
    children.push(child);
    return { child, host: `127.0.0.1:${port}` };
  };
  // SIGKILL, not a shutdown: the data is thrown away.
  const close = async () => {
    await Promise.all(children.map((child) => child.kill()));
  };
  try {
    const described = topology === 'replicaSet' ? await startReplicaSet(launch) : await startSharded(launch, topology.shards);
    return {
      ...described,
      backend: 'binaries',
      version: await serverVersion(described.connectionString),
      pids: children.map((child) => child.pid),
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

type Launch = (server: string, program: 'mongod' | 'mongos', args: string[]) => Promise<Member>;
type Described = Pick<TestCluster, 'kind' | 'connectionString' | 'shardIds' | 'shardConnectionString'>;

async function startReplicaSet(launch: Launch): Promise<Described> {
  const host = await startSet(launch, 'rs0', []);
  return {
    kind: 'replicaSet',
    connectionString: `mongodb://${host}/?replicaSet=rs0`,
    shardIds: ['rs0'],
    shardConnectionString: () => directTo(host),
  };
}

async function startSharded(launch: Launch, shardCount: number): Promise<Described> {
  const [config, shards] = await Promise.all([
    startSet(launch, 'cfg', ['--configsvr']),
    Promise.all(Array.from({ length: shardCount }, (_, index) => startSet(launch, `s${index}`, ['--shardsvr']))),
  ]);
  const router = await launch('router', 'mongos', ['--configdb', `cfg/${config}`, '--setParameter', 'enableTestCommands=1']);
  const connectionString = `mongodb://${router.host}/`;
  for (const [index, host] of shards.entries()) {
    await adminCommand(connectionString, { addShard: `s${index}/${host}`, name: `shard${index}` });
  }
  return {
    kind: 'sharded',
    connectionString,
    shardIds: shards.map((_, index) => `shard${index}`),
    shardConnectionString: (id) => directTo(shards[Number(id.slice('shard'.length))] ?? ''),
  };
}

/** A replica set of one member; answers with its host once it is primary. */
async function startSet(launch: Launch, setName: string, role: string[]): Promise<string> {
  const parameters = ['--setParameter', 'periodicNoopIntervalSecs=1', '--setParameter', 'enableTestCommands=1'];
  const { host } = await launch(setName, 'mongod', [...role, '--replSet', setName, ...parameters]);
  const members = [{ _id: 0, host }];
  const config = { _id: setName, ...(role.includes('--configsvr') && { configsvr: true }), members, settings: { electionTimeoutMillis: 1000 } };
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

async function adminCommand(connectionString: string, command: Document): Promise<Document> {
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
