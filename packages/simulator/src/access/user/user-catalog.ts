import { Int32 } from 'bson';
import type { Doc } from '../../bson/value.js';
import { CommandError, type CommandNode } from '../../node/command.js';
import { doc } from '../../node/doc-fields.js';
import type { NodeRelease } from '../../node/node-release.js';
import type { ServerVersion } from '../../node/server-version.js';
import type { InitialUser } from '../auth-options.js';
import { builtInPrivileges } from '../privilege/built-in-roles.js';
import { PrivilegeSet, readPrivileges } from '../privilege/privilege-set.js';
import { readRoles, type RoleName, roleText } from '../privilege/role-name.js';
import { AccessDocuments } from './access-documents.js';
import { accessId, newCredentials, newUserDocument, roleDocuments, rolesOf, type UserName } from './user-record.js';

/** Version of the documents that describe users, since 3.0 (`admin.system.version`). */
const authSchemaVersion = new Int32(5);

/** By name and password. */
const derived = new Map<string, Promise<Doc>>();

/**
 * Derived once for all clusters of this process, which takes long: servers derive them once for a cluster, and clusters
 * of one process mostly begin with the same users.
 */
function initialCredentials(user: string, password: string): Promise<Doc> {
  const key = JSON.stringify([user, password]);
  const known = derived.get(key);
  if (known !== undefined) return known;
  const credentials = newCredentials(user, password);
  derived.set(key, credentials);
  return credentials;
}

/** The users and roles of one deployment, stored in the `admin` database of the node that checks them. */
export class UserCatalog {
  readonly users: AccessDocuments;
  readonly roles: AccessDocuments;
  readonly #versions: AccessDocuments;
  /** Increases with every change of users and roles, which makes derived privileges stale. */
  #generation = 0;

  constructor(
    node: CommandNode,
    private readonly release: Pick<NodeRelease, 'binary'>,
  ) {
    this.users = new AccessDocuments(node, 'system.users');
    this.roles = new AccessDocuments(node, 'system.roles');
    this.#versions = new AccessDocuments(node, 'system.version');
  }

  /** The release that decides the privileges of built-in roles. */
  get version(): ServerVersion {
    return this.release.binary;
  }

  get generation(): number {
    return this.#generation;
  }

  /** Reports a change of users or roles. */
  changed(): void {
    this.#generation += 1;
  }

  async addInitialUsers(users: readonly InitialUser[]): Promise<void> {
    for (const { user, password, db = 'admin', roles } of users) {
      const names = readRoles(
        roles.map((role) => (typeof role === 'string' ? role : doc(['role', role.role], ['db', role.db]))),
        db,
      );
      const document = newUserDocument({ user, db });
      document.set('credentials', await initialCredentials(user, password));
      await this.saveUser(document.set('roles', roleDocuments(names)));
    }
  }

  async user({ user, db }: UserName): Promise<Doc | undefined> {
    return this.users.byId(accessId(db, user));
  }

  async hasUsers(): Promise<boolean> {
    return (await this.users.find(new Map(), 1)).length > 0;
  }

  async saveUser(document: Doc): Promise<void> {
    await this.#noteSchema();
    await this.users.put(document);
    this.changed();
  }

  async saveRole(document: Doc): Promise<void> {
    await this.#noteSchema();
    await this.roles.put(document);
    this.changed();
  }

  /** @returns the number of dropped users */
  async dropUsers(filter: Doc): Promise<number> {
    const gone = await this.users.remove(filter);
    this.changed();
    return gone;
  }

  /** Drops a role, and revokes it from all users and roles that have it. */
  async dropRole(dropped: RoleName): Promise<void> {
    for (const collection of [this.users, this.roles]) {
      for (const holder of await collection.find(new Map())) {
        const kept = rolesOf(holder).filter((role) => roleText(role) !== roleText(dropped));
        if (kept.length !== rolesOf(holder).length) await collection.put(holder.set('roles', roleDocuments(kept)));
      }
    }
    await this.roles.remove(doc(['_id', accessId(dropped.db, dropped.role)]));
    this.changed();
  }

  /** @throws CommandError 31 when one of the roles does not exist */
  async requireRoles(roles: readonly RoleName[]): Promise<void> {
    const missing: string[] = [];
    for (const role of roles) if (!(await this.#roleExists(role))) missing.push(roleText(role));
    if (missing.length > 0)
      throw new CommandError(
        31,
        'RoleNotFound',
        `Could not find role${missing.length > 1 ? 's' : ''}: ${missing.join(', ')}`,
      );
  }

  async #roleExists(role: RoleName): Promise<boolean> {
    return (
      builtInPrivileges(role, this.version) !== undefined ||
      (await this.roles.byId(accessId(role.db, role.role))) !== undefined
    );
  }

  /** All privileges of roles, with the roles that they inherit. */
  async privilegesOf(roles: readonly RoleName[]): Promise<{ privileges: PrivilegeSet; inherited: RoleName[] }> {
    const privileges = new PrivilegeSet();
    const seen = new Map<string, RoleName>();
    const waiting = [...roles];
    for (let role = waiting.shift(); role !== undefined; role = waiting.shift()) {
      if (seen.has(roleText(role))) continue;
      seen.set(roleText(role), role);
      const builtIn = builtInPrivileges(role, this.version);
      const document = builtIn === undefined ? await this.roles.byId(accessId(role.db, role.role)) : undefined;
      privileges.addAll(builtIn ?? readPrivileges(document?.get('privileges')));
      if (document !== undefined) waiting.push(...rolesOf(document));
    }
    return { privileges, inherited: [...seen.values()] };
  }

  async #noteSchema(): Promise<void> {
    if ((await this.#versions.byId('authSchema')) !== undefined) return;
    await this.#versions.put(doc(['_id', 'authSchema'], ['currentVersion', authSchemaVersion]));
  }
}
