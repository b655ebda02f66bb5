import { MongoClient } from 'mongodb';
import { serverVersion } from './server-version.js';

const password = 'secret';

/** The users of a cluster with access control, by name, with their roles. */
const roles = {
  root: ['root'],
  /** The roles of docs/guide/before.md, on a source and on a destination. */
  migrator: ['backup', 'clusterMonitor', 'readAnyDatabase', 'clusterManager', 'readWriteAnyDatabase', 'restore'],
  /** Rejected while user writes are blocked. */
  shopper: ['readWriteAnyDatabase', 'dbAdminAnyDatabase'],
} as const;

export type TestUser = keyof typeof roles;

const testUserNames = Object.keys(roles) as TestUser[];

/** From this release on, users need a role of its own to read shards without their router. */
const directRoleRelease = 8;
const directRole = 'directShardOperations';

/** The id of a config server among the shards. */
export const configShardId = 'config';

/** What a user holds on a router or a replica set, or on a shard itself. */
export function rolesOf(user: TestUser, isShard: boolean, release: number): string[] {
  return [...roles[user], ...(user === 'migrator' && isShard && release >= directRoleRelease ? [directRole] : [])];
}

/**
 * The same users in the form of a simulated cluster's options.
 * @param isShard whether they are users of the shards themselves
 * @param release the major release of the servers
 */
export function testUsers(isShard: boolean, release: number): { user: string; password: string; roles: string[] }[] {
  return testUserNames.map((user) => ({ user, password, roles: rolesOf(user, isShard, release) }));
}

/** Credentials in the form of an instance's setting `shards`, with which it reads the shards directly. */
export const migratorCredentials = { user: 'migrator', password } as const;

/** A connection string with a user's login: of one server, or of several, which no URL has. */
export function loginAs(connectionString: string, user: TestUser): string {
  const [, scheme = '', hosts = '', options = ''] =
    /^([^/]+:\/\/)(?:[^@/]*@)?([^/?]+)\/?\??(.*)$/.exec(connectionString) ?? [];
  const settings = new URLSearchParams(options);
  settings.set('authSource', 'admin');
  return `${scheme}${user}:${password}@${hosts}/?${settings.toString()}`;
}

/**
 * A direct connection string of a shard.
 * @param hosts `host:port` of each shard by its id
 * @throws Error for an unknown shard id
 */
export function directTo(hosts: ReadonlyMap<string, string>, id: string): string {
  const host = hosts.get(id);
  if (host === undefined) throw new Error(`There is no shard ${id}. The shards are ${[...hosts.keys()].join(', ')}.`);
  return `mongodb://${host}/?directConnection=true`;
}

/** The members of each shard, where each has one. */
export function membersOf(hosts: ReadonlyMap<string, string>): ReadonlyMap<string, readonly string[]> {
  return new Map([...hosts].map(([id, host]) => [id, [host]]));
}

/** The connection strings of a cluster, to its router or replica set. */
export interface ClusterAddresses {
  /** As the migrator, with access control. */
  readonly connectionString: string;
  /** As another user; without access control, the same for all. */
  connectionStringOf(user: TestUser): string;
}

/** A cluster's connection strings, from the one without a login. */
export function addresses(bare: string, withUsers: boolean): ClusterAddresses {
  const connectionStringOf = (user: TestUser): string => (withUsers ? loginAs(bare, user) : bare);
  return { connectionString: connectionStringOf('migrator'), connectionStringOf };
}

/**
 * Creates all users on servers without any.
 * @param connectionString without a login: servers accept the first user from the local host without one
 * @param isShard whether it leads to a shard of a cluster
 */
export async function makeUsers(connectionString: string, isShard: boolean): Promise<void> {
  await makeUser(connectionString, 'root', rolesOf('root', isShard, 0));
  const asRoot = loginAs(connectionString, 'root');
  const [release] = await serverVersion(asRoot);
  for (const user of ['migrator', 'shopper'] as const) await makeUser(asRoot, user, rolesOf(user, isShard, release));
}

async function makeUser(connectionString: string, user: TestUser, held: string[]): Promise<void> {
  await using client = new MongoClient(connectionString);
  await client.db('admin').command({ createUser: user, pwd: password, roles: held });
}
