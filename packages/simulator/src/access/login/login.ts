import { Binary } from 'bson';
import { createHash } from 'node:crypto';
import type { ConnectionState } from '../../node/command.js';
import { PrivilegeSet } from '../privilege/privilege-set.js';
import { clusterResource } from '../privilege/resource.js';
import type { RoleName } from '../privilege/role-name.js';
import type { ScramConversation } from '../scram/scram-conversation.js';
import type { UserCatalog } from '../user/user-catalog.js';
import { rolesOf, userText, type UserName } from '../user/user-record.js';

/** A SASL conversation that has begun on a connection. */
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
  /** The state of users and roles that the privileges come from. */
  generation: number;
}

/** Who is logged in on one connection: at most one user of each database. */
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

  /** By what sessions of different users differ that have the same id; undefined when not exactly one user is logged in. */
  get digest(): Binary | undefined {
    const [only, ...others] = this.#users.values();
    if (only === undefined || others.length > 0) return undefined;
    return new Binary(createHash('sha256').update(userText(only)).digest(), 0);
  }

  async add(name: UserName): Promise<void> {
    this.#users.set(name.db, { ...name, roles: [], privileges: new PrivilegeSet(), generation: -1 });
    await this.refresh();
  }

  remove(db: string): void {
    this.#users.delete(db);
    this.#publish();
  }

  /** Brings roles and privileges up to date; users that were dropped are logged out. */
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

  /** What the users of the connection may do together. */
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
  }
}
