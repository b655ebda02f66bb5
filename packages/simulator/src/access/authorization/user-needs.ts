import type { CommandRequest } from '../../node/command.js';
import { isTrue } from '../../node/doc-fields.js';
import { readPrivileges } from '../privilege/privilege-set.js';
import { readRole, readRoles } from '../privilege/role-name.js';
import { clusterResource, databaseResource } from '../privilege/resource.js';
import { unsimulatedAccessCommands } from '../command/access-commands.js';
import { readUserName } from '../command/info-commands.js';
import { type Declaration, type Need, onDatabase } from './need.js';

/** Granting or revoking a role needs the privilege to do so on the role's database. */
function roleNeeds({ body, db }: CommandRequest, field: string, action: string): Need[] {
  return readRoles(body.get(field), db).map((role) => ({ resource: databaseResource(role.db), actions: [action] }));
}

/** Granting or revoking a privilege needs the same on the database of each resource. */
function privilegeNeeds({ body }: CommandRequest, action: string): Need[] {
  return readPrivileges(body.get('privileges')).map(({ resource }) => ({
    resource:
      resource.kind === 'namespace' && resource.db !== '' ? databaseResource(resource.db) : databaseResource('admin'),
    actions: [action],
  }));
}

function creating(action: string): Declaration {
  return (request) => [
    { resource: databaseResource(request.db), actions: [action] },
    ...roleNeeds(request, 'roles', 'grantRole'),
    ...privilegeNeeds(request, 'grantRole'),
  ];
}

function updateUserNeeds(request: CommandRequest): Need[] {
  const resource = databaseResource(request.db);
  const needs: Need[] = [];
  if (request.body.has('pwd')) needs.push({ resource, actions: ['changePassword'] });
  if (request.body.has('roles'))
    needs.push({ resource, actions: ['revokeRole'] }, ...roleNeeds(request, 'roles', 'grantRole'));
  return needs;
}

/** Users may view themselves. Viewing others needs the privilege on their database. */
function usersInfoNeeds({ body, db, connection }: CommandRequest): Need[] {
  const asked = body.get('usersInfo') ?? null;
  if (asked instanceof Map && isTrue(asked.get('forAllDBs')))
    return [{ resource: clusterResource, actions: ['viewUser'] }];
  if (!(asked instanceof Map) && typeof asked !== 'string')
    return [{ resource: databaseResource(db), actions: ['viewUser'] }];
  const name = readUserName(asked, db);
  if (connection.authenticated.some((own) => own.user === name.user && own.db === name.db)) return [];
  return [{ resource: databaseResource(name.db), actions: ['viewUser'] }];
}

function rolesInfoNeeds({ body, db }: CommandRequest): Need[] {
  const asked = body.get('rolesInfo');
  const named = asked instanceof Map ? readRole(asked, db).db : db;
  return [{ resource: databaseResource(named), actions: ['viewRole'] }];
}

function changingRoles(action: string): Declaration {
  return (request) => roleNeeds(request, 'roles', action);
}

/** Commands about users, roles and logins. */
export const userNeeds: readonly (readonly [string, Declaration])[] = [
  ...['saslStart', 'saslContinue', 'authenticate', 'connectionStatus'].map((name): [string, Declaration] => [
    name,
    'open',
  ]),
  ['createUser', creating('createUser')],
  ['updateUser', updateUserNeeds],
  ['dropUser', onDatabase('dropUser')],
  ['dropAllUsersFromDatabase', onDatabase('dropUser')],
  ['grantRolesToUser', changingRoles('grantRole')],
  ['revokeRolesFromUser', changingRoles('revokeRole')],
  ['usersInfo', usersInfoNeeds],
  ['createRole', creating('createRole')],
  ['dropRole', onDatabase('dropRole')],
  ['rolesInfo', rolesInfoNeeds],
  ...unsimulatedAccessCommands.map((name): [string, Declaration] => [name, 'login']),
];
