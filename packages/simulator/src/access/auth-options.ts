/** A role by its name in the user's own database, or by name and database. */
type RoleChoice = string | { readonly role: string; readonly db: string };

/** A user that exists from the start. */
export interface InitialUser {
  readonly user: string;
  readonly password: string;
  /** Database the user belongs to and logs in to; default `admin`. */
  readonly db?: string;
  readonly roles: readonly RoleChoice[];
}

/** Access control of a simulated deployment. */
interface AuthOptions {
  /**
   * Users of the cluster (stored on the config server) or of the replica set. Without any, the localhost exception lets
   * a client create the first one.
   */
  readonly users?: readonly InitialUser[];
  /** Users of each shard. Only they can log in to a shard directly. */
  readonly shardUsers?: readonly InitialUser[];
}

/** `true` turns access control on without users; off by default. */
export type AuthSetting = boolean | AuthOptions;

/** Access control as one server has it. */
export interface ServerAuth {
  /**
   * True when the server checks every command. Users, roles and logins work without it too, as on a server without
   * `--auth`.
   */
  readonly enforced: boolean;
  readonly users: readonly InitialUser[];
}

/** The part of a setting for the routers and the config server, or for a plain replica set. */
export function clusterAuth(setting: AuthSetting | undefined): ServerAuth {
  return { enforced: isOn(setting), users: (typeof setting === 'object' ? setting.users : undefined) ?? [] };
}

/** The part of a setting for a shard. */
export function shardAuth(setting: AuthSetting | undefined): ServerAuth {
  return { enforced: isOn(setting), users: (typeof setting === 'object' ? setting.shardUsers : undefined) ?? [] };
}

function isOn(setting: AuthSetting | undefined): boolean {
  return setting !== undefined && setting !== false;
}
