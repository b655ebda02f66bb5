import { Int32 } from 'bson';
import type { Doc } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, requiredText } from '../../node/doc-fields.js';
import { builtInPrivileges } from '../privilege/built-in-roles.js';
import { type Privilege, PrivilegeSet, readPrivileges } from '../privilege/privilege-set.js';
import { type RoleName, roleText } from '../privilege/role-name.js';
import type { UserCatalog } from '../user/user-catalog.js';
import { accessId, roleDocuments, rolesOf } from '../user/user-record.js';
import { existingRoles } from './user-commands.js';

function namedRole({ db, body, name }: CommandRequest): RoleName {
  return { role: requiredText(body, name), db };
}

/** `createRole`. @throws CommandError 51002 for an existing role, built in or not */
export async function createRole(catalog: UserCatalog, request: CommandRequest): Promise<Doc> {
  const name = namedRole(request);
  if (name.role === '') throw new CommandError(2, 'BadValue', 'Role name must be non-empty');
  if (name.db === 'local') throw new CommandError(2, 'BadValue', 'Cannot create roles in the local database');
  if (name.db === '$external') throw new CommandError(2, 'BadValue', 'Cannot create roles in the $external database');
  if (builtInPrivileges(name, catalog.version) !== undefined) {
    throw new CommandError(2, 'BadValue', 'Cannot create roles with the same name as a built-in role');
  }
  const privileges = listedPrivileges(request);
  const roles = await existingRoles(catalog, request, 'roles', true);
  if ((await catalog.roles.byId(accessId(name.db, name.role))) !== undefined) {
    throw new CommandError(51002, 'Location51002', `Role "${roleText(name)}" already exists`);
  }
  await catalog.saveRole(
    doc(
      ['_id', accessId(name.db, name.role)],
      ['role', name.role],
      ['db', name.db],
      ['privileges', new PrivilegeSet(privileges).toDocuments()],
      ['roles', roleDocuments(roles)],
    ),
  );
  return new Map();
}

/** `updateRole`: replaces privileges, roles or both. */
export async function updateRole(catalog: UserCatalog, request: CommandRequest): Promise<Doc> {
  const { body } = request;
  if (!body.has('privileges') && !body.has('roles'))
    throw new CommandError(2, 'BadValue', 'updateRole command has no fields to update');
  const document = await existingRole(catalog, namedRole(request));
  if (body.has('privileges')) document.set('privileges', new PrivilegeSet(listedPrivileges(request)).toDocuments());
  if (body.has('roles')) document.set('roles', roleDocuments(await existingRoles(catalog, request, 'roles', true)));
  await catalog.saveRole(document);
  return new Map();
}

/** `dropRole`: also revokes the role from all who have it. */
export async function dropRole(catalog: UserCatalog, request: CommandRequest): Promise<Doc> {
  const name = namedRole(request);
  await existingRole(catalog, name, 'Could not find role: ');
  await catalog.dropRoles(doc(['role', name.role], ['db', name.db]));
  return new Map();
}

/** `dropAllRolesFromDatabase`: returns their number. */
export async function dropAllRoles(catalog: UserCatalog, { db }: CommandRequest): Promise<Doc> {
  return doc(['n', new Int32(await catalog.dropRoles(doc(['db', db])))]);
}

/** `grantRolesToRole` and `revokeRolesFromRole`. */
export async function changeRolesOfRole(catalog: UserCatalog, request: CommandRequest, grant: boolean): Promise<Doc> {
  const named = await existingRoles(catalog, request, 'roles', true);
  const document = await existingRole(catalog, namedRole(request));
  const gone = new Set(named.map(roleText));
  const kept = rolesOf(document).filter((role) => !gone.has(roleText(role)));
  await catalog.saveRole(document.set('roles', roleDocuments(grant ? [...kept, ...named] : kept)));
  return new Map();
}

/** `grantPrivilegesToRole` and `revokePrivilegesFromRole`. */
export async function changePrivilegesOfRole(
  catalog: UserCatalog,
  request: CommandRequest,
  grant: boolean,
): Promise<Doc> {
  const document = await existingRole(catalog, namedRole(request));
  const privileges = new PrivilegeSet(readPrivileges(document.get('privileges')));
  for (const privilege of listedPrivileges(request)) {
    if (grant) privileges.add(privilege);
    else privileges.remove(privilege);
  }
  await catalog.saveRole(document.set('privileges', privileges.toDocuments()));
  return new Map();
}

/** `invalidateUserCache`: derives privileges again. */
export function invalidateUserCache(catalog: UserCatalog): Doc {
  catalog.changed();
  return new Map();
}

async function existingRole(catalog: UserCatalog, name: RoleName, complaint?: string): Promise<Doc> {
  if (builtInPrivileges(name, catalog.version) !== undefined) {
    throw new CommandError(
      49,
      'InvalidRoleModification',
      `${roleText(name)} is a built-in role and cannot be modified`,
    );
  }
  const document = await catalog.roles.byId(accessId(name.db, name.role));
  if (document !== undefined) return document;
  throw new CommandError(
    31,
    'RoleNotFound',
    complaint === undefined ? `Role ${roleText(name)} not found` : `${complaint}${roleText(name)}`,
  );
}

function listedPrivileges({ body, name }: CommandRequest): Privilege[] {
  if (!body.has('privileges'))
    throw new CommandError(40414, 'Location40414', `BSON field '${name}.privileges' is missing but a required field`);
  return readPrivileges(body.get('privileges'));
}
