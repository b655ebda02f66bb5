import type { Doc } from '../../bson/value.js';
import { typeName } from '../../bson/type-of.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, requiredText } from '../../node/doc-fields.js';
import { unsimulated } from '../../node/unsimulated.js';
import { Int32 } from 'bson';
import { readRoles, type RoleName, roleText } from '../privilege/role-name.js';
import type { UserCatalog } from '../user/user-catalog.js';
import {
  newCredentials,
  newUserDocument,
  roleDocuments,
  rolesOf,
  userText,
  type UserName,
} from '../user/user-record.js';

/** The user in a command's first field. Users belong to the command's database. */
function namedUser({ db, body, name }: CommandRequest): UserName {
  return { user: requiredText(body, name), db };
}

/**
 * `createUser`.
 * @throws CommandError 51003 for an existing user, 31 for unknown roles, 2 and 40414 for missing fields
 */
export async function createUser(catalog: UserCatalog, request: CommandRequest): Promise<Doc> {
  const name = namedUser(request);
  const { body } = request;
  if (name.user === '') throw new CommandError(2, 'BadValue', "User document needs 'user' field to be non-empty");
  if (name.db === 'local') throw new CommandError(2, 'BadValue', 'Cannot create users in the local database');
  refuseOtherFields(request);
  if (name.db === '$external') throw unsimulated('a user of $external');
  if (!body.has('pwd')) {
    throw new CommandError(
      2,
      'BadValue',
      "Must provide a 'pwd' field for all user documents, except those with '$external' as the user's source db",
    );
  }
  const roles = await existingRoles(catalog, request);
  const document = newUserDocument(name);
  document.set('credentials', await credentialsOf(request, name.user));
  document.set('roles', roleDocuments(roles));
  if ((await catalog.user(name)) !== undefined)
    throw new CommandError(51003, 'Location51003', `User "${userText(name)}" already exists`);
  await catalog.saveUser(document);
  return new Map();
}

/** `updateUser`: replaces the given fields. @throws CommandError 11 for an unknown user, 2 without any field */
export async function updateUser(catalog: UserCatalog, request: CommandRequest): Promise<Doc> {
  const name = namedUser(request);
  const { body } = request;
  refuseOtherFields(request);
  if (!body.has('pwd') && !body.has('roles'))
    throw new CommandError(2, 'BadValue', 'Must specify at least one field to update in updateUser');
  const roles = body.has('roles') ? await existingRoles(catalog, request) : undefined;
  const document = await existingUser(catalog, name);
  if (body.has('pwd')) document.set('credentials', await credentialsOf(request, name.user));
  if (roles !== undefined) document.set('roles', roleDocuments(roles));
  await catalog.saveUser(document);
  return new Map();
}

/** `dropUser`. @throws CommandError 11 for an unknown user */
export async function dropUser(catalog: UserCatalog, request: CommandRequest): Promise<Doc> {
  const name = namedUser(request);
  const gone = await catalog.dropUsers(doc(['user', name.user], ['db', name.db]));
  if (gone === 0) throw new CommandError(11, 'UserNotFound', `User '${userText(name)}' not found`);
  return new Map();
}

/** `dropAllUsersFromDatabase`: returns their number. */
export async function dropAllUsers(catalog: UserCatalog, { db }: CommandRequest): Promise<Doc> {
  return doc(['n', new Int32(await catalog.dropUsers(doc(['db', db])))]);
}

/** `grantRolesToUser`. */
export async function grantRolesToUser(catalog: UserCatalog, request: CommandRequest): Promise<Doc> {
  const granted = await existingRoles(catalog, request);
  return changeRoles(catalog, namedUser(request), (roles) => {
    const present = new Set(roles.map(roleText));
    return [...roles, ...granted.filter((role) => !present.has(roleText(role)))];
  });
}

/** `revokeRolesFromUser`. */
export async function revokeRolesFromUser(catalog: UserCatalog, request: CommandRequest): Promise<Doc> {
  const revoked = new Set((await existingRoles(catalog, request)).map(roleText));
  return changeRoles(catalog, namedUser(request), (roles) => roles.filter((role) => !revoked.has(roleText(role))));
}

async function changeRoles(
  catalog: UserCatalog,
  name: UserName,
  change: (roles: RoleName[]) => RoleName[],
): Promise<Doc> {
  const document = await existingUser(catalog, name, 'Could not find user');
  await catalog.saveUser(document.set('roles', roleDocuments(change(rolesOf(document)))));
  return new Map();
}

async function existingUser(catalog: UserCatalog, name: UserName, complaint?: string): Promise<Doc> {
  const document = await catalog.user(name);
  if (document !== undefined) return document;
  const message =
    complaint === undefined ? `User ${userText(name)} not found` : `${complaint} "${name.user}" for db "${name.db}"`;
  throw new CommandError(11, 'UserNotFound', message);
}

/**
 * The roles in a command's list, all of which exist.
 * @throws CommandError 40414 for a missing list, 14 for another type, 31 for unknown roles
 */
export async function existingRoles(catalog: UserCatalog, { body, db, name }: CommandRequest): Promise<RoleName[]> {
  const value = body.get('roles');
  if (value === undefined)
    throw new CommandError(40414, 'Location40414', `BSON field '${name}.roles' is missing but a required field`);
  if (!Array.isArray(value)) {
    throw new CommandError(
      14,
      'TypeMismatch',
      `BSON field '${name}.roles' is the wrong type '${typeName(value)}', expected type 'array'`,
    );
  }
  const roles = readRoles(value, db);
  await catalog.requireRoles(roles);
  return roles;
}

/** @throws CommandError 115 for fields of users that are not simulated */
function refuseOtherFields({ body }: CommandRequest): void {
  const field = ['customData', 'mechanisms', 'digestPassword'].find(
    (name) => body.has(name) && body.get(name) !== true,
  );
  if (field !== undefined) throw unsimulated(field);
}

async function credentialsOf(request: CommandRequest, user: string): Promise<Doc> {
  const password = requiredText(request.body, 'pwd');
  if (password === '') throw new CommandError(50687, 'Location50687', 'Password cannot be empty');
  return newCredentials(user, password);
}
