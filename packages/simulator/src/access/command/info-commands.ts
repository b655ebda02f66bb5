import type { Doc, Value } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOrEmpty, isTrue, textOrEmpty } from '../../node/doc-fields.js';
import { unsimulated } from '../../node/unsimulated.js';
import { compileMatcher } from '../../query/matcher.js';
import type { Login } from '../login/login.js';
import { builtInPrivileges } from '../privilege/built-in-roles.js';
import { readRole, roleText } from '../privilege/role-name.js';
import type { UserCatalog } from '../user/user-catalog.js';
import { accessId, mechanismsOf, roleDocuments, rolesOf, type UserName } from '../user/user-record.js';

/** `usersInfo`: one user, all of a database (`1`) or all (`{forAllDBs: true}`). */
export async function usersInfo(catalog: UserCatalog, request: CommandRequest): Promise<Doc> {
  refuseOptions(request, ['showCredentials', 'showPrivileges']);
  const documents = await askedUsers(catalog, request);
  const matches = compileMatcher(docOrEmpty(request.body.get('filter')));
  return doc(['users', documents.filter(matches).map(shownUser)]);
}

async function askedUsers(catalog: UserCatalog, { body, db }: CommandRequest): Promise<Doc[]> {
  const asked = body.get('usersInfo') ?? null;
  if (asked instanceof Map && isTrue(asked.get('forAllDBs'))) return catalog.users.find(new Map());
  if (Array.isArray(asked)) throw unsimulated('usersInfo of several users');
  if (!(asked instanceof Map) && typeof asked !== 'string') return catalog.users.find(doc(['db', db]));
  const document = await catalog.user(readUserName(asked, db));
  return document === undefined ? [] : [document];
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

function shownUser(document: Doc): Doc {
  const shown = new Map(document);
  shown.delete('credentials');
  shown.delete('roles');
  return shown.set('roles', roleDocuments(rolesOf(document))).set('mechanisms', mechanismsOf(document));
}

/**
 * `rolesInfo` of one role that users have made, without its privileges.
 * @throws CommandError 115 for everything else
 */
export async function rolesInfo(catalog: UserCatalog, request: CommandRequest): Promise<Doc> {
  refuseOptions(request, ['showPrivileges', 'showBuiltinRoles']);
  const asked = request.body.get('rolesInfo');
  if (!(asked instanceof Map) && typeof asked !== 'string') throw unsimulated('rolesInfo of several roles');
  const name = readRole(asked, request.db);
  if (builtInPrivileges(name, catalog.version) !== undefined) throw unsimulated('rolesInfo of a built-in role');
  const document = await catalog.roles.byId(accessId(name.db, name.role));
  if (document === undefined) return doc(['roles', []]);
  const { inherited } = await catalog.privilegesOf([name]);
  const below = inherited.filter((role) => roleText(role) !== roleText(name));
  const shown = doc(
    ['_id', document.get('_id') ?? null],
    ['role', name.role],
    ['db', name.db],
    ['roles', roleDocuments(rolesOf(document))],
    ['inheritedRoles', roleDocuments(below)],
    ['isBuiltin', false],
  );
  return doc(['roles', [shown]]);
}

function refuseOptions({ body, name }: CommandRequest, options: readonly string[]): void {
  const option = options.find((each) => isTrue(body.get(each)));
  if (option !== undefined) throw unsimulated(`${name}.${option}`);
}

/** `connectionStatus`: the logged-in users, their roles, and with `showPrivileges` their privileges. */
export async function connectionStatus(login: Login, request: CommandRequest): Promise<Doc> {
  await login.refresh();
  const users = login.users.map(({ user, db }) => doc(['user', user], ['db', db]));
  const info = doc(['authenticatedUsers', users], ['authenticatedUserRoles', roleDocuments(login.roles)]);
  if (isTrue(request.body.get('showPrivileges')))
    info.set('authenticatedUserPrivileges', login.privileges.toDocuments());
  return doc(['authInfo', info]);
}
