import type { Doc } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, requiredText } from '../../node/doc-fields.js';
import { builtInPrivileges } from '../privilege/built-in-roles.js';
import { type Privilege, PrivilegeSet, readPrivileges } from '../privilege/privilege-set.js';
import { type RoleName, roleText } from '../privilege/role-name.js';
import type { UserCatalog } from '../user/user-catalog.js';
import { accessId, roleDocuments } from '../user/user-record.js';
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
  const roles = await existingRoles(catalog, request);
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

/** `dropRole`: also revokes the role from all who have it. */
export async function dropRole(catalog: UserCatalog, request: CommandRequest): Promise<Doc> {
  const name = namedRole(request);
  await requireOwnRole(catalog, name);
  await catalog.dropRole(name);
  return new Map();
}

/** @throws CommandError 49 for a built-in role, 31 for an unknown one */
async function requireOwnRole(catalog: UserCatalog, name: RoleName): Promise<void> {
  if (builtInPrivileges(name, catalog.version) !== undefined) {
    throw new CommandError(
      49,
      'InvalidRoleModification',
      `${roleText(name)} is a built-in role and cannot be modified`,
    );
  }
  if ((await catalog.roles.byId(accessId(name.db, name.role))) === undefined)
    throw new CommandError(31, 'RoleNotFound', `Could not find role: ${roleText(name)}`);
}

function listedPrivileges({ body, name }: CommandRequest): Privilege[] {
  if (!body.has('privileges'))
    throw new CommandError(40414, 'Location40414', `BSON field '${name}.privileges' is missing but a required field`);
  return readPrivileges(body.get('privileges'));
}
