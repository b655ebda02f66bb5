import { MongoClient } from 'mongodb';

const password = 'secret';

/** The users of a cluster that has access control, by name, with their roles. */
const roles = {
  root: ['root'],
  /** What docs/operations.md asks for, on a source and on a destination. */
  migrator: ['backup', 'clusterMonitor', 'readAnyDatabase', 'clusterManager', 'readWriteAnyDatabase', 'restore'],
  /** Refused while the writes of users are blocked. */
  shopper: ['readWriteAnyDatabase', 'dbAdminAnyDatabase'],
} as const;

export type TestUser = keyof typeof roles;

/** The same users as a simulated cluster takes them when it is started. */
export const testUsers = Object.entries(roles).map(([user, held]) => ({ user, password, roles: [...held] }));

/** Credentials as an instance's setting `shards` takes them: with them it reads the shards themselves. */
export const migratorCredentials = { user: 'migrator', password } as const;

/** A connection string that logs in as a user. */
export function loginAs(connectionString: string, user: TestUser): string {
  const url = new URL(connectionString);
  [url.username, url.password] = [user, password];
  url.searchParams.set('authSource', 'admin');
  return url.href;
}

/**
 * Straight to a shard.
 * @param hosts `host:port` of each shard by its id
 * @throws Error where there is no shard of this id
 */
export function directTo(hosts: ReadonlyMap<string, string>, id: string): string {
  const host = hosts.get(id);
  if (host === undefined) throw new Error(`There is no shard ${id}: there are ${[...hosts.keys()].join(', ')}.`);
  return `mongodb://${host}/?directConnection=true`;
}

/** The connection strings of a cluster: to its router, or to the members of its replica set. */
export interface ClusterAddresses {
  /** As the migrator, where there is access control. */
  readonly connectionString: string;
  /** As another user; the same for all users where there is no access control. */
  connectionStringOf(user: TestUser): string;
}

/** The addresses of a cluster, from its connection string without a login. */
export function addresses(bare: string, withUsers: boolean): ClusterAddresses {
  const connectionStringOf = (user: TestUser): string => (withUsers ? loginAs(bare, user) : bare);
  return { connectionString: connectionStringOf('migrator'), connectionStringOf };
}

/**
 * Makes all users on servers that have none yet.
 * @param connectionString without a login: servers let the first user be made from their own machine without one
 */
export async function makeUsers(connectionString: string): Promise<void> {
  await makeUser(connectionString, 'root');
  for (const user of ['migrator', 'shopper'] as const) await makeUser(loginAs(connectionString, 'root'), user);
}

async function makeUser(connectionString: string, user: TestUser): Promise<void> {
  await using client = new MongoClient(connectionString);
  await client.db('admin').command({ createUser: user, pwd: password, roles: [...roles[user]] });
}
