import { Binary, Int32, UUID } from 'bson';
import type { Doc, Value } from '../bson/value.js';
import type { CommandRequest } from '../node/command.js';
import { doc } from '../node/doc-fields.js';
import { SessionIdentity } from '../shard/session/session-identity.js';
import type { RouterContext } from './router-context.js';

const timeoutMinutes = new Int32(30);

/** `startSession`. */
export function startSession(): Doc {
  return doc(
    ['id', doc(['id', new Binary(new UUID().buffer, Binary.SUBTYPE_UUID)])],
    ['timeoutMinutes', timeoutMinutes],
  );
}

/** `currentOp`: the operations that the shards report. */
export async function currentOperations(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const replies = await context.sender.runOnAll(context.catalog.shards, request, request.body);
  return doc(['inprog', [...replies.values()].flatMap((reply) => reply.get('inprog') as Value[])]);
}

/**
 * `endSessions`, `refreshSessions`, `killSessions` and `killAllSessions` go to every running shard, each of which has
 * its own sessions. Cursors of ended sessions are closed.
 */
export async function sessionCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const named = request.body.get(request.name);
  if (request.name !== 'refreshSessions' && Array.isArray(named)) {
    const sessions = named.flatMap((id) => SessionIdentity.read(id)?.toString() ?? []);
    await context.cursors.killBySession(new Set(sessions), request);
  }
  await context.sender.runOnAll(
    context.catalog.shards.filter((shard) => shard.node.up),
    request,
    request.body,
  );
  return new Map();
}
