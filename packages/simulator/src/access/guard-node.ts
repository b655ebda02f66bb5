import type { CommandNode } from '../node/command.js';
import type { NodeCommands } from '../every-node/node-commands.js';
import type { NodeRelease } from '../node/node-release.js';
import type { ServedNode } from '../wire/served-node.js';
import { AccessNode, Logins } from './access-node.js';
import type { ServerAuth } from './auth-options.js';
import { Authorizer } from './authorization/authorizer.js';
import type { DirectShard } from './authorization/direct-access.js';
import type { ClusterTimeSigner } from './cluster-time-signer.js';
import { AccessDocuments } from './user/access-documents.js';
import { UserCatalog } from './user/user-catalog.js';

/** The users of one deployment, and whether its nodes check privileges. */
export interface AccessRealm {
  readonly catalog: UserCatalog;
  /** Undefined without access control. */
  readonly signer: ClusterTimeSigner | undefined;
}

/** Stores the key of a deployment where its members read it. Does nothing without access control. */
export async function keepSigningKey(keeper: CommandNode, { signer }: AccessRealm): Promise<void> {
  if (signer !== undefined) await new AccessDocuments(keeper, 'system.keys').put(signer.document());
}

/**
 * Sets up the users of a deployment.
 * @param keeper the node whose `admin` database stores users and roles
 * @param signer signs cluster times, the same for all nodes of a cluster; used only with access control
 */
export async function openRealm(
  keeper: CommandNode,
  release: NodeRelease,
  auth: ServerAuth,
  signer: ClusterTimeSigner,
): Promise<AccessRealm> {
  const catalog = new UserCatalog(keeper, release);
  await catalog.addInitialUsers(auth.users);
  return { catalog, signer: auth.enforced ? signer : undefined };
}

/** A node with commands about itself, as clients reach it. */
interface GuardedNode extends ServedNode {
  readonly nodeCommands: NodeCommands;
  /** Names of all its commands. */
  readonly commandNames: Iterable<string>;
}

/**
 * Puts users, roles and logins in front of a node.
 * @param shard if it is one, which may leave users' data to routers
 */
export function guardNode(node: GuardedNode, realm: AccessRealm, shard?: DirectShard): ServedNode {
  const logins = new Logins(realm.catalog);
  node.nodeCommands.addAnswers(logins.answers());
  const known = new Set(node.commandNames);
  const { signer } = realm;
  if (signer === undefined) return new AccessNode(node, logins, undefined, known);
  const authorizer = new Authorizer(realm.catalog, known, shard, (request) =>
    node.nodeCommands.refuseToAnyone(request),
  );
  return new AccessNode(node, logins, { authorizer, signer }, known);
}
