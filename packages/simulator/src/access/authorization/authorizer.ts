import { Long } from 'bson';
import { decodeDocument } from '../../bson/decode.js';
import { documentText } from '../../bson/text.js';
import { type Doc, RawDocument, type Value } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { isTrue, numberOf, textOrEmpty } from '../../node/doc-fields.js';
import { hasCommand } from '../../node/release-rules.js';
import type { Login } from '../login/login.js';
import { PrivilegeSet } from '../privilege/privilege-set.js';
import { clusterResource, databaseResource, namespaceResource } from '../privilege/resource.js';
import type { UserCatalog } from '../user/user-catalog.js';
import { clusterNeeds } from './cluster-needs.js';
import { CursorOwners } from './cursor-owners.js';
import { dataNeeds } from './data-needs.js';
import { type DirectShard, refuseDirectAccess } from './direct-access.js';
import { type Declaration, fullName, type Need } from './need.js';
import { userNeeds } from './user-needs.js';

/** What a client on the server's own machine may do while there are no users (manual: "Localhost Exception"). */
const localhostException = new PrivilegeSet([
  { resource: databaseResource('admin'), actions: ['createRole', 'createUser', 'grantRole'] },
  { resource: clusterResource, actions: ['addShard', 'replSetConfigure'] },
]);

/** Lets commands through, or refuses them as the server does. */
export class Authorizer {
  readonly #owners = new CursorOwners();

  constructor(
    private readonly catalog: UserCatalog,
    /** Names of the commands that the node behind has in some release. It refuses all others itself. */
    private readonly known: ReadonlySet<string>,
    /** The shard behind; undefined for nodes that are none. */
    private readonly shard: DirectShard | undefined,
    /** What the node refuses to every user. @throws CommandError */
    private readonly refuseToAnyone: (request: CommandRequest) => void,
  ) {}

  #knows(name: string): boolean {
    return this.known.has(name) && hasCommand(this.catalog.version, name);
  }

  /** Checks a command before it runs. @throws CommandError 13 without the privilege */
  async check(login: Login, request: CommandRequest): Promise<void> {
    const needs = declaredNeeds.get(request.name);
    if (!this.#knows(request.name) || needs === 'open') return;
    await login.refresh();
    const privileges = await this.#privilegesOf(login);
    if (privileges === undefined)
      throw new CommandError(
        13,
        'Unauthorized',
        `${this.catalog.version.atLeast(8, 0) ? 'Command' : 'command'} ${request.name} requires authentication`,
      );
    this.refuseToAnyone(request);
    if (needs === undefined || needs === 'login') this.#checkOwn(login, privileges, request);
    else if (request.name === 'rolesInfo' && asksForOwnRole(login, request)) return;
    else if (!needs(request).every((need) => this.#isMet(need, privileges, request))) throw refusal(request);
    if (this.shard !== undefined) refuseDirectAccess(request, privileges, this.shard);
  }

  /** Filters the reply of a command: removes what the caller may not see, and records whose cursors are open. */
  finish(login: Login, request: CommandRequest, reply: Doc): void {
    this.#owners.note(request, reply, login.text);
    if (request.name === 'listDatabases' && !seesAllDatabases(login.privileges, request))
      keepVisibleDatabases(reply, login.privileges);
    if (
      request.name === 'listCollections' &&
      isTrue(request.body.get('authorizedCollections')) &&
      !listsCollections(login.privileges, request.db)
    ) {
      keepVisibleCollections(reply, request.db, login.privileges);
    }
    if (writesAccess(request)) this.catalog.changed();
  }

  /** A UUID without a collection is left to the command, which does not find it. */
  #isMet(need: Need, privileges: PrivilegeSet, { db }: CommandRequest): boolean {
    if (need.uuid === undefined || this.shard === undefined) return isMet(need, privileges);
    const namespace = this.shard.namespaceOf(db, need.uuid);
    return namespace === undefined || isMet({ ...need, resource: fullName(namespace) }, privileges);
  }

  async #privilegesOf(login: Login): Promise<PrivilegeSet | undefined> {
    if (login.users.length > 0) return login.privileges;
    return (await this.catalog.hasUsers()) ? undefined : localhostException;
  }

  #checkOwn(login: Login, privileges: PrivilegeSet, request: CommandRequest): void {
    switch (request.name) {
      case 'getMore':
        this.#owners.check(request, login.text);
        return;
      case 'killCursors':
        if (this.#owners.concernsOthers(request, login.text) && !privileges.allows(clusterResource, 'killAnyCursor'))
          throw refusal(request);
        return;
      case 'listDatabases':
        if (request.body.get('authorizedDatabases') === false && !privileges.allows(clusterResource, 'listDatabases'))
          throw refusal(request);
        return;
      case 'listCollections':
        if (!listsCollections(privileges, request.db) && !asksForOwnNames(privileges, request)) throw refusal(request);
        return;
      default:
    }
  }
}

function isMet({ resource, actions, orElse, ofReaders }: Need, privileges: PrivilegeSet): boolean {
  if (ofReaders !== undefined && !privileges.allows(ofReaders, 'find')) return true;
  if (orElse !== undefined && privileges.allows(resource, orElse)) return true;
  return actions.every((action) => privileges.allows(resource, action));
}

function refusal(request: CommandRequest): CommandError {
  return new CommandError(
    13,
    'Unauthorized',
    `not authorized on ${request.db} to execute command ${commandText(request)}`,
  );
}

function seesAllDatabases(privileges: PrivilegeSet, { body }: CommandRequest): boolean {
  return privileges.allows(clusterResource, 'listDatabases') && !isTrue(body.get('authorizedDatabases'));
}

function listsCollections(privileges: PrivilegeSet, db: string): boolean {
  return privileges.allows(namespaceResource(db, ''), 'listCollections');
}

/** `nameOnly` lists the databases on which the caller has any privilege. */
function asksForOwnNames(privileges: PrivilegeSet, { db, body }: CommandRequest): boolean {
  return isTrue(body.get('nameOnly')) && isTrue(body.get('authorizedCollections')) && privileges.allowsAnythingIn(db);
}

/** Users may view the roles that they have. */
function asksForOwnRole({ roles }: Login, { body, db }: CommandRequest): boolean {
  const asked = body.get('rolesInfo');
  return typeof asked === 'string' && roles.some((role) => role.role === asked && role.db === db);
}

/** True for data commands that write to the collections of users and roles. */
function writesAccess({ db, name, body }: CommandRequest): boolean {
  const collection = body.get(name);
  return db === 'admin' && (collection === 'system.users' || collection === 'system.roles') && name !== 'find';
}

/** Fields that the server does not show, by command. */
const hiddenFields: ReadonlyMap<string, string> = new Map([
  ['createUser', 'pwd'],
  ['updateUser', 'pwd'],
  ['saslStart', 'payload'],
  ['saslContinue', 'payload'],
]);

/** A command as a refusal shows it: as sent, without document sequences, passwords as `xxx`. */
function commandText(request: CommandRequest): string {
  const shown = withListedStatements(request);
  const secret = hiddenFields.get(request.name);
  if (secret !== undefined && shown.has(secret)) shown.set(secret, 'xxx');
  return documentText(shown);
}

/** Puts statements that were taken out of the body as bytes back into their place. */
function withListedStatements({ body, sequences, listed }: CommandRequest): Doc {
  const fields: [string, Value][] = [...body];
  if (listed !== undefined) {
    const statements = (sequences.get(listed.field) ?? []).map((bytes) => new RawDocument(bytes));
    fields.splice(listed.index, 0, [listed.field, statements]);
  }
  return new Map(fields);
}

const bytesPerMegabyte = 1024 * 1024;

/** Removes what the caller may not see from a reply of `listDatabases`, and adds the sizes up again. */
function keepVisibleDatabases(reply: Doc, privileges: PrivilegeSet): void {
  const entries = listIn(reply.get('databases')).filter((entry) =>
    privileges.allowsAnythingIn(textOrEmpty(entry.get('name'))),
  );
  reply.set('databases', entries);
  if (!reply.has('totalSize')) return;
  const total = entries.reduce((sum, entry) => sum + (numberOf(entry.get('sizeOnDisk')) ?? 0), 0);
  reply
    .set('totalSize', Long.fromNumber(total))
    .set('totalSizeMb', Long.fromNumber(Math.floor(total / bytesPerMegabyte)));
}

/** The same for `listCollections` with `authorizedCollections`. */
function keepVisibleCollections(reply: Doc, db: string, privileges: PrivilegeSet): void {
  const cursor = reply.get('cursor');
  if (!(cursor instanceof Map)) return;
  const visible = listIn(cursor.get('firstBatch')).filter((entry) =>
    privileges.allowsAnything({ kind: 'namespace', db, collection: textOrEmpty(entry.get('name')) }),
  );
  cursor.set('firstBatch', visible);
}

function listIn(value: Value | undefined): Doc[] {
  return (Array.isArray(value) ? value : []).flatMap((each) => {
    if (each instanceof RawDocument) return [decodeDocument(each.bytes)];
    return each instanceof Map ? [each] : [];
  });
}

/** The needs of every command, by its name. */
export const declaredNeeds: ReadonlyMap<string, Declaration> = new Map([...dataNeeds, ...clusterNeeds, ...userNeeds]);
