import { Binary } from 'bson';
import { createHash } from 'node:crypto';
import type { ConnectionState } from '../../node/command.js';
import { PrivilegeSet } from '../privilege/privilege-set.js';
import { clusterResource } from '../privilege/resource.js';
import type { RoleName } from '../privilege/role-name.js';
import type { ScramConversation } from '../scram/scram-conversation.js';
import type { UserCatalog } from '../user/user-catalog.js';
import { rolesOf, userText, type UserName } from '../user/user-record.js';

/** A SASL conversation that a client has started on a connection. */
interface RunningConversation {
  readonly user: UserName;
  readonly scram: ScramConversation;
  /** True when the client wants no empty exchange after the proof. */
  readonly skipsEmptyExchange: boolean;
  /** True once the proof was accepted and only the empty exchange is left. */
  proven: boolean;
}

interface LoggedInUser extends UserName {
  roles: readonly RoleName[];
  privileges: PrivilegeSet;
  /** The version of users and roles from which the privileges were derived. */
  generation: number;
}

/** The users logged in on one connection: at most one of each database. */
export class Login {
  conversation: RunningConversation | undefined;
  readonly #users = new Map<string, LoggedInUser>();

  constructor(
    private readonly connection: ConnectionState,
    private readonly catalog: UserCatalog,
  ) {}

  get users(): readonly UserName[] {
    return [...this.#users.values()].map(({ user, db }) => ({ user, db }));
  }

  /** The users as one text, the same for equal logins only; empty when nobody is logged in. */
  get text(): string {
    return this.users.map(userText).join(',');
  }

  /**
   * Distinguishes sessions of different users that have the same id. Undefined unless exactly one user is logged in.
   */
  get digest(): Binary | undefined {
    const [only, ...others] = this.#users.values();
    if (only === undefined || others.length > 0) return undefined;
    return new Binary(createHash('sha256').update(userText(only)).digest(), 0);
  }

  async add(name: UserName): Promise<void> {
    this.#users.set(name.db, { ...name, roles: [], privileges: new PrivilegeSet(), generation: -1 });
    await this.refresh();
  }

  /** Refreshes roles and privileges, and logs out users that were dropped. */
  async refresh(): Promise<void> {
    const { generation } = this.catalog;
    if ([...this.#users.values()].every((entry) => entry.generation === generation)) return;
    for (const entry of [...this.#users.values()]) {
      if (entry.generation === generation) continue;
      const document = await this.catalog.user(entry);
      if (document === undefined) {
        this.#users.delete(entry.db);
        continue;
      }
      const { privileges, inherited } = await this.catalog.privilegesOf(rolesOf(document));
      Object.assign(entry, { privileges, roles: inherited, generation });
    }
    this.#publish();
  }

  get roles(): readonly RoleName[] {
    return [...this.#users.values()].flatMap((entry) => entry.roles);
  }

  /** The privileges of all users of the connection together. */
  get privileges(): PrivilegeSet {
    const entries = [...this.#users.values()];
    const [only] = entries;
    if (only !== undefined && entries.length === 1) return only.privileges;
    return new PrivilegeSet(entries.flatMap((entry) => entry.privileges.privileges));
  }

  #publish(): void {
    this.connection.authenticated = [...this.users];
    this.connection.bypassesWriteBlocking =
      this.#users.size > 0 && this.privileges.allows(clusterResource, 'bypassWriteBlockingMode');
    this.connection.bypassesDefaultMaxTime = this.privileges.allows(clusterResource, 'bypassDefaultMaxTimeMS');
  }
}
