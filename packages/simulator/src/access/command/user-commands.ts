import type { Doc } from '../../bson/value.js';
import { typeName } from '../../bson/type-of.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOf, docOrEmpty, numberOf, requiredText } from '../../node/doc-fields.js';
import { Int32 } from 'bson';
import { readRoles, type RoleName, roleText } from '../privilege/role-name.js';
import { type MechanismName, scramMechanism, scramMechanisms } from '../scram/scram-mechanism.js';
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
  const external = name.db === '$external';
  if (!body.has('pwd') && !external) {
    throw new CommandError(
      2,
      'BadValue',
      "Must provide a 'pwd' field for all user documents, except those with '$external' as the user's source db",
    );
  }
  const roles = await existingRoles(catalog, request, 'roles', true);
  const document = newUserDocument(name);
  document.set('credentials', external ? doc(['external', true]) : await credentialsOf(request, name.user, undefined));
  if (body.has('customData')) document.set('customData', body.get('customData') ?? null);
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
  const changing = ['pwd', 'customData', 'roles', 'mechanisms'].filter((field) => body.has(field));
  if (changing.length === 0)
    throw new CommandError(2, 'BadValue', 'Must specify at least one field to update in updateUser');
  const roles = body.has('roles') ? await existingRoles(catalog, request, 'roles', true) : undefined;
  const document = await existingUser(catalog, name);
  if (body.has('pwd')) document.set('credentials', await credentialsOf(request, name.user, document));
  else if (body.has('mechanisms')) document.set('credentials', fewerCredentials(document, mechanismNames(request)));
  if (body.has('customData')) document.set('customData', body.get('customData') ?? null);
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
  const granted = await existingRoles(catalog, request, 'roles', true);
  return changeRoles(catalog, namedUser(request), (roles) => {
    const present = new Set(roles.map(roleText));
    return [...roles, ...granted.filter((role) => !present.has(roleText(role)))];
  });
}

/** `revokeRolesFromUser`. */
export async function revokeRolesFromUser(catalog: UserCatalog, request: CommandRequest): Promise<Doc> {
  const revoked = new Set((await existingRoles(catalog, request, 'roles', true)).map(roleText));
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
export async function existingRoles(
  catalog: UserCatalog,
  { body, db, name }: CommandRequest,
  field: string,
  required: boolean,
): Promise<RoleName[]> {
  const value = body.get(field);
  if (value === undefined) {
    if (!required) return [];
    throw new CommandError(40414, 'Location40414', `BSON field '${name}.${field}' is missing but a required field`);
  }
  if (!Array.isArray(value)) {
    throw new CommandError(
      14,
      'TypeMismatch',
      `BSON field '${name}.${field}' is the wrong type '${typeName(value)}', expected type 'array'`,
    );
  }
  const roles = readRoles(value, db);
  await catalog.requireRoles(roles);
  return roles;
}

async function credentialsOf(request: CommandRequest, user: string, present: Doc | undefined): Promise<Doc> {
  const password = requiredText(request.body, 'pwd');
  if (password === '') throw new CommandError(50687, 'Location50687', 'Password cannot be empty');
  const digested = request.body.get('digestPassword') === false || numberOf(request.body.get('digestPassword')) === 0;
  const wanted = request.body.has('mechanisms') ? mechanismNames(request) : presentMechanisms(present, digested);
  if (digested && wanted.includes('SCRAM-SHA-256'))
    throw new CommandError(2, 'BadValue', 'Use of SCRAM-SHA-256 requires undigested passwords');
  return newCredentials(user, password, wanted, digested);
}

function presentMechanisms(present: Doc | undefined, digested: boolean): MechanismName[] {
  const kept = docOf(present?.get('credentials'));
  const all = scramMechanisms.map(({ name }) => name).filter((name) => kept === undefined || kept.has(name));
  return digested && kept === undefined ? ['SCRAM-SHA-1'] : all;
}

function mechanismNames({ body }: CommandRequest): MechanismName[] {
  const list = body.get('mechanisms');
  if (!Array.isArray(list) || list.length === 0)
    throw new CommandError(2, 'BadValue', 'mechanisms field must not be empty');
  return list.map((each) => {
    const mechanism = typeof each === 'string' ? scramMechanism(each) : undefined;
    if (mechanism === undefined)
      throw new CommandError(2, 'BadValue', `Unknown auth mechanism '${typeof each === 'string' ? each : ''}'`);
    return mechanism.name;
  });
}

function fewerCredentials(document: Doc, wanted: readonly MechanismName[]): Doc {
  const present = docOrEmpty(document.get('credentials'));
  if (!wanted.every((name) => present.has(name))) {
    throw new CommandError(2, 'BadValue', 'mechanisms field must be a subset of previously set mechanisms');
  }
  return new Map([...present].filter(([name]) => wanted.some((each) => each === name)));
}
