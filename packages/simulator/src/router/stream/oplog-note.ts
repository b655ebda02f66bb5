import type { Doc } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { fanOut } from '../ddl/fan-out.js';
import type { RouterContext } from '../router-context.js';

/** `appendOplogNote` on every shard. @throws CommandError 59 before 6.0, whose routers do not have it */
export function appendOplogNoteCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  if (!context.version.atLeast(6)) throw new CommandError(59, 'CommandNotFound', `no such cmd: ${request.name}`);
  if (request.db !== 'admin')
    throw new CommandError(13, 'Unauthorized', 'appendOplogNote may only be run against the admin database.');
  return fanOut(context, request, context.catalog.shards);
}
