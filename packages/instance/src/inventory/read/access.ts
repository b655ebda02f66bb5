import { BSON, type Document } from 'mongodb';
import { readCursor } from '../../catalog/list-namespaces.js';
import { nameSome } from '../../catalog/name-some.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import type { Item, Scope } from '../item.js';

/** A role as documents of users and roles name it. */
interface RoleName {
  readonly role: string;
  readonly db: string;
}

/** A user or role as it is stored. */
interface Account {
  readonly bytes: Uint8Array;
  readonly document: Document;
}

/** Built-in roles that give access to their own database alone. */
const databaseRoles: ReadonlySet<string> = new Set([
  'read',
  'readWrite',
  'dbAdmin',
  'dbOwner',
  'userAdmin',
  'enableSharding',
]);

/** The databases that something gives access to; null for the whole cluster. */
type Reach = ReadonlySet<string> | null;

/** Users that somebody has made, with their credentials as they are stored. */
export async function readUsers(cluster: ClusterClient, signal: AbortSignal): Promise<Item[]> {
  const [users, roles] = [
    await readAccounts(cluster, 'system.users', signal),
    await readAccounts(cluster, 'system.roles', signal),
  ];
  const reach = new Reaches(roles);
  return users.map(({ bytes, document }) => {
    const { user, db, roles: held = [] } = document as unknown as { user: string; db: string; roles?: RoleName[] };
    // Servers give each user an id of its own.
    const rest = Object.fromEntries(Object.entries(document).filter(([field]) => field !== 'userId'));
    return {
      kind: 'users' as const,
      name: `${user}@${db}`,
      scope: scopeOf(reach.ofRoles(held)),
      shown: described(held),
      content: contentOf({ ...rest, roles: sorted(held) }),
      payload: { type: 'user' as const, document: bytes },
    };
  });
}

/** Roles that somebody has made. */
export async function readRoles(cluster: ClusterClient, signal: AbortSignal): Promise<Item[]> {
  const roles = await readAccounts(cluster, 'system.roles', signal);
  const reach = new Reaches(roles);
  return roles.map(({ document }) => {
    const {
      role,
      db,
      roles: inherited = [],
      privileges = [],
    } = document as unknown as RoleName & {
      roles?: RoleName[];
      privileges?: Document[];
    };
    return {
      kind: 'roles' as const,
      name: `${role}@${db}`,
      scope: scopeOf(reach.ofRoles([{ role, db }])),
      shown: `${privileges.length} privilege${privileges.length === 1 ? '' : 's'}, ${described(inherited)}`,
      content: contentOf({ ...document, privileges: privileges.map(contentOf).sort(), roles: sorted(inherited) }),
      payload: { type: 'role' as const, document },
    };
  });
}

async function readAccounts(
  { router }: ClusterClient,
  collection: 'system.users' | 'system.roles',
  signal: AbortSignal,
): Promise<Account[]> {
  const find = { find: collection, filter: {}, sort: { _id: 1 } };
  return readCursor(
    router,
    'admin',
    find,
    (bytes) => ({ bytes: Buffer.from(bytes), document: BSON.deserialize(bytes) }),
    signal,
  );
}

/** What roles give access to, through those that they inherit. */
class Reaches {
  readonly #roles: ReadonlyMap<string, Document>;

  constructor(roles: readonly Account[]) {
    this.#roles = new Map(roles.map(({ document }) => [String(document._id), document]));
  }

  ofRoles(names: readonly RoleName[], below: ReadonlySet<string> = new Set()): Reach {
    return union(names.map((name) => this.#ofRole(name, below)));
  }

  #ofRole({ role, db }: RoleName, below: ReadonlySet<string>): Reach {
    const id = `${db}.${role}`;
    if (below.has(id)) return new Set();
    const own = this.#roles.get(id);
    if (own === undefined) return databaseRoles.has(role) && db !== 'admin' ? new Set([db]) : null;
    const privileges = (own.privileges ?? []) as { resource: Document }[];
    const inherited = this.ofRoles((own.roles ?? []) as RoleName[], new Set([...below, id]));
    return union([inherited, ...privileges.map(({ resource }) => reachOf(resource))]);
  }
}

function reachOf({ db }: Document): Reach {
  return typeof db === 'string' && db !== '' ? new Set([db]) : null;
}

function union(all: readonly Reach[]): Reach {
  const databases = new Set<string>();
  for (const one of all) {
    if (one === null) return null;
    for (const database of one) databases.add(database);
  }
  return databases;
}

function scopeOf(reach: Reach): Scope {
  return reach === null ? { of: 'cluster' } : { of: 'databases', databases: [...reach].sort() };
}

function described(roles: readonly RoleName[]): string {
  return roles.length === 0 ? 'no roles' : `roles ${nameSome(sorted(roles))}`;
}

function sorted(roles: readonly RoleName[]): string[] {
  return roles.map(({ role, db }) => `${role}@${db}`).sort();
}

/** Equal for documents of equal fields in any order. */
function contentOf(document: Document): string {
  return BSON.EJSON.stringify(Object.fromEntries(Object.entries(document).sort(([a], [b]) => (a < b ? -1 : 1))), {
    relaxed: false,
  });
}
