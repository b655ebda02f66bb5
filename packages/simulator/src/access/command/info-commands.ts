import type { Doc, Value } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOrEmpty, isTrue, textOrEmpty } from '../../node/doc-fields.js';
import { compileMatcher } from '../../query/matcher.js';
import { builtInPrivileges, builtInRoleNames } from '../privilege/built-in-roles.js';
import { PrivilegeSet, readPrivileges } from '../privilege/privilege-set.js';
import { readRole, type RoleName, roleText } from '../privilege/role-name.js';
import type { UserCatalog } from '../user/user-catalog.js';
import { accessId, mechanismsOf, roleDocuments, rolesOf, type UserName } from '../user/user-record.js';

/** `usersInfo`: one user, several, all of a database (`1`) or all (`{forAllDBs: true}`). */
export async function usersInfo(catalog: UserCatalog, request: CommandRequest): Promise<Doc> {
  const documents = await askedUsers(catalog, request);
  const matches = compileMatcher(docOrEmpty(request.body.get('filter')));
  const users: Value[] = [];
  for (const document of documents.filter(matches)) users.push(await shownUser(catalog, request, document));
  return doc(['users', users]);
}

async function askedUsers(catalog: UserCatalog, { body, db }: CommandRequest): Promise<Doc[]> {
  const asked = body.get('usersInfo') ?? null;
  if (asked instanceof Map && isTrue(asked.get('forAllDBs'))) return catalog.users.find(new Map());
  if (asked instanceof Map || typeof asked === 'string') return namedUsers(catalog, [asked], db);
  return Array.isArray(asked) ? namedUsers(catalog, asked, db) : catalog.users.find(doc(['db', db]));
}

async function namedUsers(catalog: UserCatalog, asked: readonly Value[], db: string): Promise<Doc[]> {
  const found: Doc[] = [];
  for (const each of asked) {
    const document = await catalog.user(readUserName(each, db));
    if (document !== undefined) found.push(document);
  }
  return found;
}

/**
 * A user as clients name it: a text, or `{user, db}`.
 * @throws CommandError 2 for anything else
 */
export function readUserName(value: Value, db: string): UserName {
  if (typeof value === 'string') return { user: value, db };
  if (value instanceof Map) return { user: textOrEmpty(value.get('user')), db: textOrEmpty(value.get('db')) || db };
  throw new CommandError(2, 'BadValue', 'User names must be either strings or objects');
}

async function shownUser(catalog: UserCatalog, { body }: CommandRequest, document: Doc): Promise<Doc> {
  const shown = new Map(document);
  shown.delete('credentials');
  shown.delete('roles');
  if (isTrue(body.get('showCredentials')))
    shown.set('credentials', document.get('credentials') ?? new Map<string, Value>());
  const roles = rolesOf(document);
  shown.set('roles', roleDocuments(roles)).set('mechanisms', mechanismsOf(document));
  if (!isTrue(body.get('showPrivileges'))) return shown;
  const { privileges, inherited } = await catalog.privilegesOf(roles);
  return shown.set('inheritedRoles', roleDocuments(inherited)).set('inheritedPrivileges', privileges.toDocuments());
}

/** `rolesInfo`: one role, several, or all of a database (`1`). Built-in ones only on request. */
export async function rolesInfo(catalog: UserCatalog, request: CommandRequest): Promise<Doc> {
  const { body, db } = request;
  const asked = body.get('rolesInfo') ?? null;
  const named = Array.isArray(asked) ? asked : asked instanceof Map || typeof asked === 'string' ? [asked] : undefined;
  const names = named === undefined ? await rolesOfDatabase(catalog, request) : named.map((each) => readRole(each, db));
  const roles: Value[] = [];
  for (const name of names) {
    const shown = await shownRole(catalog, name, isTrue(body.get('showPrivileges')), named === undefined);
    if (shown !== undefined) roles.push(shown);
  }
  return doc(['roles', roles]);
}

async function rolesOfDatabase(catalog: UserCatalog, { body, db }: CommandRequest): Promise<RoleName[]> {
  const own = (await catalog.roles.find(doc(['db', db]))).map((role) => ({ role: textOrEmpty(role.get('role')), db }));
  const builtIn = isTrue(body.get('showBuiltinRoles'))
    ? builtInRoleNames(db, catalog.version).map((role) => ({ role, db }))
    : [];
  return [...own, ...builtIn];
}

/** The order of fields, as 5.0.7 shows them: roles that were asked for by name or all of a database. */
const roleFields = {
  own: {
    named: ['_id', 'role', 'db', 'privileges', 'roles', 'inheritedRoles', 'inheritedPrivileges', 'isBuiltin'],
    listed: ['_id', 'role', 'db', 'privileges', 'roles', 'isBuiltin', 'inheritedRoles', 'inheritedPrivileges'],
  },
  builtIn: {
    named: ['db', 'role', 'roles', 'privileges', 'inheritedRoles', 'inheritedPrivileges', 'isBuiltin'],
    listed: ['role', 'db', 'isBuiltin', 'roles', 'privileges', 'inheritedRoles', 'inheritedPrivileges'],
  },
} as const;

async function shownRole(
  catalog: UserCatalog,
  name: RoleName,
  showPrivileges: boolean,
  isListed: boolean,
): Promise<Doc | undefined> {
  const builtIn = builtInPrivileges(name, catalog.version);
  const document = builtIn === undefined ? await catalog.roles.byId(accessId(name.db, name.role)) : undefined;
  if (builtIn === undefined && document === undefined) return undefined;
  const { privileges, inherited } = await catalog.privilegesOf([name]);
  const below = inherited.filter((role) => roleText(role) !== roleText(name));
  const known = doc(
    ['_id', document?.get('_id') ?? null],
    ['db', name.db],
    ['role', name.role],
    ['roles', roleDocuments(document === undefined ? [] : rolesOf(document))],
    ['inheritedRoles', roleDocuments(below)],
    ['isBuiltin', builtIn !== undefined],
  );
  if (showPrivileges) {
    const own = new PrivilegeSet(builtIn ?? readPrivileges(document?.get('privileges')));
    known.set('privileges', own.toDocuments()).set('inheritedPrivileges', privileges.toDocuments());
  }
  const fields = roleFields[builtIn === undefined ? 'own' : 'builtIn'][isListed ? 'listed' : 'named'];
  return new Map(fields.flatMap((field) => (known.has(field) ? [[field, known.get(field) ?? null]] : [])));
}
