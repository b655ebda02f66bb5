import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import type { Cluster } from '../cluster/door.js';
import { destinationPrivileges, missingPrivileges, sourcePrivileges } from './required-privileges.js';

/** Missing privileges named in one description. */
const PRIVILEGES_NAMED_MAX = 10;

/**
 * Whether the users of both connections are the configured one and may do what a migration does. A cluster without
 * authentication lets everybody do everything.
 * @param syncUser the configured user, when there is one
 * @throws ConvoyError `syncUserMismatch` or `permissionMissing`; descriptions name privileges, never users
 */
export async function checkUsers(source: Cluster, destination: Cluster, syncUser: string | undefined, signal: AbortSignal): Promise<void> {
  await checkUser(source, sourcePrivileges[source.kind], syncUser, signal);
  await checkUser(destination, destinationPrivileges[destination.kind], syncUser, signal);
}

async function checkUser(
  cluster: Cluster,
  required: Parameters<typeof missingPrivileges>[1],
  syncUser: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const reply = await cluster.router.command('admin', { connectionStatus: 1, showPrivileges: true }, { signal });
  const info = reply.authInfo as Document;
  const users = (info.authenticatedUsers as { user: string }[] | undefined) ?? [];
  if (syncUser !== undefined && !users.some(({ user }) => user === syncUser)) {
    throw new ConvoyError('syncUserMismatch', `The connection string of ${cluster.name} has another user than the configured syncUser; make them agree.`);
  }
  if (users.length === 0) return;
  const missing = missingPrivileges((info.authenticatedUserPrivileges as Document[] | undefined) ?? [], required);
  if (missing.length === 0) return;
  const named = missing.slice(0, PRIVILEGES_NAMED_MAX).join(', ');
  const more = missing.length > PRIVILEGES_NAMED_MAX ? ` and ${missing.length - PRIVILEGES_NAMED_MAX} more` : '';
  throw new ConvoyError('permissionMissing', `The user of ${cluster.name} lacks ${named}${more}; grant it.`);
}
