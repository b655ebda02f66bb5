import type { CarriedKind } from '@convoy/api/contract/carry';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import { takesNotes } from '../cluster/cluster-time.js';
import type { ClusterClient, NodeClient } from '../cluster/node-client.js';
import { type Advice, warning } from './examination.js';
import { nameSome } from '../catalog/name-some.js';
import {
  carryPrivileges,
  destinationBlockPrivileges,
  destinationPrivileges,
  missingPrivileges,
  notePrivileges,
  type RequiredPrivilege,
  shardPrivileges,
  sourceBlockPrivileges,
  sourcePrivileges,
  verifiedPrivileges,
} from './required-privileges.js';

/** Missing privileges named in one description. */
const PRIVILEGES_NAMED_MAX = 10;

/** The logged-in user as a node reports it; null if nobody is logged in, and everything is allowed. */
export interface LoggedIn {
  names: string[];
  privileges: Document[];
}

/** The nodes of the source on which users may not append oplog notes. */
interface CheckedUsers {
  withoutNotes: string[];
}

/** Requirements for the users. */
interface WantedUsers {
  syncUser: string | undefined;
  blocked: { source: boolean; destination: boolean };
  /** The clusters may swap roles: each user needs the privileges of both. */
  reverses: boolean;
  /** Convoy also reads what it writes to the destination. */
  verifies: boolean;
  /** What the commit takes along. */
  carries: ReadonlySet<CarriedKind>;
}

/**
 * Checks whether the users of both connections are the configured one and have the privileges for a migration; with
 * direct access to the source, those of its shards too. A cluster without authentication allows everything.
 * @param wanted `syncUser`: the configured user, if there is one; `blocked`: where the migration blocks the writes of
 * other users; `reverses`: it may be reversed; `verifies`: it is verified; `carries`: what the commit
 * takes along
 * @throws ConvoyError `syncUserMismatch` or `permissionMissing`; descriptions name privileges, never users
 */
export async function checkUsers(
  source: ClusterClient,
  destination: ClusterClient,
  wanted: WantedUsers,
  signal: AbortSignal,
): Promise<CheckedUsers> {
  const { syncUser, blocked, reverses, verifies, carries } = wanted;
  const user = await checkUser(
    source,
    [
      ...asSource(source, blocked.source),
      ...(reverses ? asDestination(source, blocked.source) : []),
      ...carryPrivileges(carries, source.version, reverses),
    ],
    syncUser,
    signal,
  );
  const shards = await checkShardUsers(source, signal);
  const asWriter = [
    ...asDestination(destination, blocked.destination),
    ...(reverses ? asSource(destination, blocked.destination) : verifies ? verifiedPrivileges : []),
    ...carryPrivileges(carries, destination.version, true),
  ];
  const writer = await checkUser(destination, asWriter, syncUser, signal);
  if (blocked.destination && writer === null)
    throw nobodyLoggedIn(`the destination ${destination.name}`, 'enableUserWriteBlocking');
  if (reverses && user === null)
    throw nobodyLoggedIn(`the source ${source.name}, which a reverse writes to`, 'reversible');
  if (!takesNotes(source)) return { withoutNotes: [] };
  const noted = shards.length > 0 ? shards : [{ where: source.name, user }];
  return {
    withoutNotes: noted.filter((one) => missingOf(one.user, notePrivileges).length > 0).map(({ where }) => where),
  };
}

function asSource({ kind }: ClusterClient, blocksWrites: boolean): RequiredPrivilege[] {
  return [...sourcePrivileges[kind], ...(blocksWrites ? sourceBlockPrivileges : [])];
}

function asDestination({ kind }: ClusterClient, blocksWrites: boolean): RequiredPrivilege[] {
  return [...destinationPrivileges[kind], ...(blocksWrites ? destinationBlockPrivileges : [])];
}

function nobodyLoggedIn(where: string, option: string): ConvoyError {
  return new ConvoyError(
    'permissionMissing',
    `Convoy has no user on ${where}: a block of user writes would also block Convoy's writes. Enable access ` +
      `control there and grant its user bypassWriteBlockingMode, or leave out ${option}.`,
  );
}

/** The finding about users that have all required privileges. */
export function describeUsers({ withoutNotes }: CheckedUsers): Advice {
  if (withoutNotes.length === 0) return 'The users have all privileges for a migration.';
  return warning(
    'oplogNotesNotAllowed',
    `The users have all required privileges, but not appendOplogNote on ${nameSome(withoutNotes)}. On idle ` +
      "shards, copy, commit and lag wait for the servers' own ticks, every 10 s by default. Grant it, for example " +
      'by the role backup.',
  );
}

/** The shards that have their own users: a replica set is its own shard. */
function shardsOf(source: ClusterClient): readonly string[] {
  return source.access === 'direct' && source.kind === 'sharded' ? source.shardIds : [];
}

async function checkUser(
  cluster: ClusterClient,
  required: readonly RequiredPrivilege[],
  syncUser: string | undefined,
  signal: AbortSignal,
): Promise<LoggedIn | null> {
  const user = await loggedIn(cluster.router, signal);
  if (syncUser !== undefined && user?.names.includes(syncUser) !== true) {
    throw new ConvoyError(
      'syncUserMismatch',
      `The connection string of ${cluster.name} has a different user than the configured syncUser. Make them agree.`,
    );
  }
  refuseMissing(cluster.name, missingOf(user, required));
  return user;
}

/** The user of a shard. */
interface ShardUser {
  where: string;
  user: LoggedIn | null;
}

/** Shards that one description names. */
const shardsNamedMax = 20;

/**
 * Checks the users of all shards that are read without their router.
 * @throws ConvoyError `permissionMissing` that names each shard, in their order
 */
export async function checkShardUsers(source: ClusterClient, signal: AbortSignal): Promise<ShardUser[]> {
  const users = await Promise.all(shardsOf(source).map((id) => shardUser(source, id, signal)));
  const lacks = users.flatMap(({ where, user }) => {
    const missing = missingOf(user, shardPrivileges(source.version));
    return missing.length === 0 ? [] : [lacking(where, missing)];
  });
  if (lacks.length === 0) return users;
  const more = lacks.length - shardsNamedMax;
  throw new ConvoyError(
    'permissionMissing',
    `${lacks.slice(0, shardsNamedMax).join(' ')} ${more > 0 ? `So do users of ${more} more shards. ` : ''}Grant it.`,
  );
}

async function shardUser(source: ClusterClient, id: string, signal: AbortSignal): Promise<ShardUser> {
  return { where: `${id} of ${source.name}`, user: await loggedIn(source.shard(id), signal) };
}

/** The user of a client's connection. */
export async function loggedIn(client: NodeClient, signal: AbortSignal): Promise<LoggedIn | null> {
  const reply = await client.command('admin', { connectionStatus: 1, showPrivileges: true }, { signal });
  const info = reply.authInfo as Document;
  const users = (info.authenticatedUsers as { user: string }[] | undefined) ?? [];
  if (users.length === 0) return null;
  return {
    names: users.map(({ user }) => user),
    privileges: (info.authenticatedUserPrivileges as Document[] | undefined) ?? [],
  };
}

function missingOf(user: LoggedIn | null, required: readonly RequiredPrivilege[]): string[] {
  return user === null ? [] : missingPrivileges(user.privileges, required);
}

function refuseMissing(where: string, missing: readonly string[]): void {
  if (missing.length > 0) throw new ConvoyError('permissionMissing', `${lacking(where, missing)} Grant it.`);
}

function lacking(where: string, missing: readonly string[]): string {
  return `The user of ${where} lacks ${nameSome(missing, PRIVILEGES_NAMED_MAX)}.`;
}
