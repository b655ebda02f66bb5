import type { Doc, Value } from '../bson/value.js';
import { type CommandRequest, CommandError } from '../node/command.js';
import { doc } from '../node/doc-fields.js';
import { SessionIdentity } from '../shard/session/session-identity.js';
import { fanOut } from './ddl/fan-out.js';
import type { RouterContext } from './router-context.js';

/** `currentOp`: the operations that the shards report. */
export async function currentOpCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
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

/** `appendOplogNote` on every shard. @throws CommandError 59 before 6.0, whose routers do not have it */
export function appendOplogNoteCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  if (!context.version.atLeast(6)) throw new CommandError(59, 'CommandNotFound', `no such cmd: ${request.name}`);
  if (request.db !== 'admin')
    throw new CommandError(13, 'Unauthorized', 'appendOplogNote may only be run against the admin database.');
  return fanOut(context, request, context.catalog.shards);
}
