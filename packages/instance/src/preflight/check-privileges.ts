import { carriedKindsOf } from '@convoy/api/contract/carry';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { blockedClusters } from '@convoy/api/contract/write-blocking';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import { nameSome } from '../catalog/name-some.js';
import { takesNotes } from '../cluster/cluster-time.js';
import type { ClusterClient, NodeClient } from '../cluster/node-client.js';
import { binaryVersion } from '../cluster/topology.js';
import { standingBlock, writeBlockVersion } from '../cluster/write-block.js';
import { type Advice, warning } from './examination.js';
import {
  bypassPrivileges,
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

/** The logged-in user as a node reports it. */
export interface LoggedIn {
  names: string[];
  privileges: Document[];
}

/** What is asked of the users, and where. */
interface UsersCheck {
  source: ClusterClient;
  destination: ClusterClient;
  request: StartRequest;
  signal: AbortSignal;
  /** The configured user, if there is one. */
  syncUser?: string;
  /** Connects to the destination as the source of a reverse. */
  openNextSource?: () => Promise<ClusterClient>;
}

/**
 * Checks whether the users of both connections are the configured one and have the privileges for a migration: for its
 * blocks of writes, for a verifier, for what the commit takes along, and if it may be reversed, for both roles. With
 * direct access to the source, those of its shards too. A cluster without authentication allows everything.
 * @returns the finding
 * @throws ConvoyError `syncUserMismatch`, `permissionMissing` or `userWritesBlocked`; descriptions name privileges,
 * never users
 */
export async function checkUsers(check: UsersCheck): Promise<Advice> {
  const { source, destination, request, syncUser, signal } = check;
  const { reversible: reverses } = request;
  const blocked = blockedClusters(request.enableUserWriteBlocking);
  const carries = carriedKindsOf(request.carry);
  const asReader = [
    ...asSource(source, blocked.source),
    ...(reverses ? asDestination(source, blocked.source) : []),
    ...carryPrivileges(carries, source.version, reverses),
  ];
  const user = await checkUser(source, asReader, syncUser, signal);
  const shards = await checkShardUsers(source, signal);
  const asWriter = [
    ...asDestination(destination, blocked.destination),
    ...(reverses ? asSource(destination, blocked.destination) : request.verification.enabled ? verifiedPrivileges : []),
    ...carryPrivileges(carries, destination.version, true),
  ];
  const writer = await checkUser(destination, asWriter, syncUser, signal);
  if (blocked.destination && writer === null)
    throw nobodyLoggedIn(`the destination ${destination.name}`, 'enableUserWriteBlocking');
  if (reverses && user === null)
    throw nobodyLoggedIn(`the source ${source.name}, which a reverse writes to`, 'reversible');
  if (reverses) await checkReverseUsers(check);
  const closed = blocked.destination ? null : await describeStandingBlock(destination, writer, signal);
  if (closed !== null) return closed;
  const noted = shards.length > 0 ? shards : [{ where: source.name, user }];
  return describeUsers(takesNotes(source) ? noted.filter((one) => missingOf(one.user, notePrivileges).length > 0) : []);
}

/**
 * A block of user writes that stands on the destination and is not of this migration: another tool has left it, or an
 * operator keeps users away. Nobody would lift it at the commit.
 * @returns null if there is none
 * @throws ConvoyError `userWritesBlocked` if it blocks Convoy too
 */
async function describeStandingBlock(
  destination: ClusterClient,
  writer: LoggedIn | null,
  signal: AbortSignal,
): Promise<Advice | null> {
  if (binaryVersion(destination)[0] < writeBlockVersion) return null;
  const block = await standingBlock(destination, { signal });
  if (block === null) return null;
  const reason = block.foreignReason === null ? '' : ` for the reason ${block.foreignReason}`;
  const stands = `The destination ${destination.name} refuses the writes of users${reason}.`;
  if (writer === null || missingOf(writer, bypassPrivileges).length > 0)
    throw new ConvoyError(
      'userWritesBlocked',
      `${stands} Convoy's user there may not bypass that. Have the block lifted by who has set it (convoy unblock ` +
        "lifts Convoy's own), or grant the user bypassWriteBlockingMode, which the role restore has.",
    );
  return warning(
    'destinationWritesBlocked',
    `${stands} Convoy writes all the same, but does not lift a block that is not its own: users cannot write after ` +
      'the commit. Have it lifted before by who has set it.',
  );
}

/** A reverse may read the destination's shards directly, and can only fail once the clusters have swapped roles. */
async function checkReverseUsers({ openNextSource, signal }: UsersCheck): Promise<void> {
  const next = await openNextSource?.();
  if (next === undefined) return;
  try {
    await checkShardUsers(next, signal);
  } finally {
    await next.close();
  }
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

/** @param withoutNotes the nodes of the source on which users may not append oplog notes */
function describeUsers(withoutNotes: readonly { where: string }[]): Advice {
  const names = withoutNotes.map(({ where }) => where);
  if (names.length === 0) return 'The users have all privileges for a migration.';
  return warning(
    'oplogNotesNotAllowed',
    `The users have all required privileges, but not appendOplogNote on ${nameSome(names)}. On idle ` +
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

/** The user of a cluster, or of one of its shards; null if nobody is logged in there, and everything is allowed. */
export interface FoundUser {
  where: string;
  user: LoggedIn | null;
}

/** Shards that one description names. */
export const shardsNamedMax = 20;

/**
 * Checks the users of all shards that are read without their router.
 * @throws ConvoyError `permissionMissing` that names each shard, in their order
 */
async function checkShardUsers(source: ClusterClient, signal: AbortSignal): Promise<FoundUser[]> {
  const users = await shardUsers(source, signal);
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

/** The user of a cluster's router, or of a replica set. */
export async function routerUser({ name, router }: ClusterClient, signal: AbortSignal): Promise<FoundUser> {
  return { where: name, user: await loggedIn(router, signal) };
}

/** The users of all shards that are read without their router. */
export function shardUsers(source: ClusterClient, signal: AbortSignal): Promise<FoundUser[]> {
  return Promise.all(
    shardsOf(source).map(async (id) => ({
      where: `${id} of ${source.name}`,
      user: await loggedIn(source.shard(id), signal),
    })),
  );
}

/** The user of a client's connection. */
async function loggedIn(client: NodeClient, signal: AbortSignal): Promise<LoggedIn | null> {
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
