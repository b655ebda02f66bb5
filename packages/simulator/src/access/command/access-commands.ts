import type { Doc } from '../../bson/value.js';
import type { CommandRequest } from '../../node/command.js';
import { refuseUnsimulated } from '../../node/unsimulated.js';
import { connectionStatus } from './info-commands.js';
import type { Login } from '../login/login.js';
import { authenticate, saslContinue, saslStart } from '../login/sasl-commands.js';
import type { UserCatalog } from '../user/user-catalog.js';
import * as information from './info-commands.js';
import * as roles from './role-commands.js';
import * as users from './user-commands.js';

/** Answers one command about users, roles and logins. */
type AccessCommand = (catalog: UserCatalog, request: CommandRequest, login: Login) => Doc | Promise<Doc>;

/** Commands about roles and logins that are not simulated. They are refused by name. */
export const unsimulatedAccessCommands: readonly string[] = [
  'dropAllRolesFromDatabase',
  'grantPrivilegesToRole',
  'grantRolesToRole',
  'invalidateUserCache',
  'logout',
  'revokePrivilegesFromRole',
  'revokeRolesFromRole',
  'updateRole',
];

/** Commands about users, roles and logins, by name. */
export const accessCommands: ReadonlyMap<string, AccessCommand> = new Map<string, AccessCommand>([
  ['saslStart', (catalog, { db, body }, login) => saslStart(catalog, login, db, body)],
  ['saslContinue', (_catalog, { db, body }, login) => saslContinue(login, db, body)],
  ['authenticate', (_catalog, request) => authenticate(request)],
  ['connectionStatus', (_catalog, request, login) => connectionStatus(login, request)],
  ['createUser', users.createUser],
  ['updateUser', users.updateUser],
  ['dropUser', users.dropUser],
  ['dropAllUsersFromDatabase', users.dropAllUsers],
  ['grantRolesToUser', users.grantRolesToUser],
  ['revokeRolesFromUser', users.revokeRolesFromUser],
  ['usersInfo', information.usersInfo],
  ['createRole', roles.createRole],
  ['dropRole', roles.dropRole],
  ['rolesInfo', information.rolesInfo],
  ...unsimulatedAccessCommands.map((name): [string, AccessCommand] => [
    name,
    (_catalog, request) => refuseUnsimulated(request),
  ]),
]);
