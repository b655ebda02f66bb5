import type { Doc } from '../bson/value.js';
import type { CommandRequest, ConnectionState } from '../node/command.js';
import { docOf } from '../node/doc-fields.js';
import { handshakes, refuseOutsideAdmin } from '../node/command-names.js';
import type { CommandOutcome, ServedNode } from '../wire/served-node.js';
import { Timestamp } from 'bson';
import type { Authorizer } from './authorization/authorizer.js';
import type { ClusterTimeSigner } from './cluster-time-signer.js';
import { accessCommands } from './command/access-commands.js';
import { Login } from './login/login.js';
import { extendHandshake } from './login/sasl-commands.js';
import { clusterResource } from './privilege/resource.js';
import type { UserCatalog } from './user/user-catalog.js';

/** The parts of access control that exist only when it is turned on. */
interface Enforcement {
  readonly authorizer: Authorizer;
  readonly signer: ClusterTimeSigner;
}

/** Logins of a node's connections, and the commands that are about users, roles and logins. */
export class Logins {
  readonly #logins = new WeakMap<ConnectionState, Login>();

  constructor(readonly catalog: UserCatalog) {}

  of(connection: ConnectionState): Login {
    const known = this.#logins.get(connection) ?? new Login(connection, this.catalog);
    this.#logins.set(connection, known);
    return known;
  }

  /** The commands, each as a node answers it. */
  answers(): [string, (request: CommandRequest) => Doc | Promise<Doc>][] {
    return [...accessCommands].map(([name, command]) => [
      name,
      (request) => command(this.catalog, request, this.of(request.connection)),
    ]);
  }
}

/** A session belongs to the user who uses it, whoever else knows its id. */
function ownSession(login: Login, { body }: CommandRequest): void {
  const lsid = body.get('lsid');
  const digest = lsid instanceof Map && !lsid.has('uid') ? login.digest : undefined;
  if (lsid instanceof Map && digest !== undefined) body.set('lsid', new Map(lsid).set('uid', digest));
}

/** A node behind its authorization checks. Without enforcement every command passes, but users can log in. */
export class AccessNode implements ServedNode {
  constructor(
    private readonly node: ServedNode,
    private readonly logins: Logins,
    private readonly enforcement: Enforcement | undefined,
    /** Names of the commands that the node has. */
    private readonly known: ReadonlySet<string>,
  ) {}

  async run(request: CommandRequest): Promise<Doc> {
    if (handshakes.has(request.name)) return this.#greet(request);
    if (this.known.has(request.name)) refuseOutsideAdmin(request);
    if (this.enforcement === undefined) return this.node.run(request);
    const login = this.logins.of(request.connection);
    await this.enforcement.authorizer.check(login, request);
    if (
      login.users.length > 0 &&
      request.body.has('$clusterTime') &&
      !login.privileges.allows(clusterResource, 'advanceClusterTime')
    ) {
      this.enforcement.signer.refuseForeign(request.body.get('$clusterTime'));
    }
    ownSession(login, request);
    const reply = await this.node.run(request);
    this.enforcement.authorizer.finish(login, request, reply);
    return reply;
  }

  addReplyFields(reply: Doc, request: CommandRequest, outcome: CommandOutcome): void {
    this.node.addReplyFields(reply, request, outcome);
    const clusterTime = docOf(reply.get('$clusterTime'));
    const time = clusterTime?.get('clusterTime');
    if (this.enforcement !== undefined && time instanceof Timestamp)
      clusterTime?.set('signature', this.enforcement.signer.signature(time));
  }

  async #greet(request: CommandRequest): Promise<Doc> {
    const reply = await this.node.run(request);
    await extendHandshake(this.logins.catalog, this.logins.of(request.connection), request, reply);
    return reply;
  }
}
