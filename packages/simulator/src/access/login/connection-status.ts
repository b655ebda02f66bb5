import type { CommandRequest } from '../../node/command.js';
import { doc, isTrue } from '../../node/doc-fields.js';
import type { Doc } from '../../bson/value.js';
import { roleDocuments } from '../user/user-record.js';
import type { Login } from './login.js';

/** `connectionStatus`: the logged-in users, their roles, and with `showPrivileges` their privileges. */
export async function connectionStatus(login: Login, request: CommandRequest): Promise<Doc> {
  await login.refresh();
  const users = login.users.map(({ user, db }) => doc(['user', user], ['db', db]));
  const info = doc(['authenticatedUsers', users], ['authenticatedUserRoles', roleDocuments(login.roles)]);
  if (isTrue(request.body.get('showPrivileges')))
    info.set('authenticatedUserPrivileges', login.privileges.toDocuments());
  return doc(['authInfo', info]);
}
