import { Binary, Int32, UUID } from 'bson';
import type { Doc } from '../bson/value.js';
import type { CommandRequest } from '../node/command.js';
import { doc } from '../node/doc-fields.js';
import type { RouterContext } from './router-context.js';

const timeoutMinutes = new Int32(30);

/** `startSession`. */
export function startSession(): Doc {
  return doc(['id', doc(['id', new Binary(new UUID().buffer, Binary.SUBTYPE_UUID)])], ['timeoutMinutes', timeoutMinutes]);
}

/** `endSessions`, `refreshSessions` and `killSessions` go to every shard, each of which keeps its own sessions. */
export async function sessionCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  await context.sender.runOnAll(context.catalog.shards, request, request.body);
  return new Map();
}
