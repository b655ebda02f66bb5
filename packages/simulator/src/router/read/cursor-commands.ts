import { Long } from 'bson';
import type { Doc } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, numberOf } from '../../node/doc-fields.js';
import type { RouterContext } from '../router-context.js';

/** `getMore` of a cursor this router opened. */
export function getMoreCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const id = request.body.get('getMore');
  if (!(id instanceof Long))
    throw new CommandError(14, 'TypeMismatch', `BSON field 'getMore.getMore' is the wrong type`);
  const batchSize = numberOf(request.body.get('batchSize'));
  return context.cursors.more(id, batchSize === 0 ? undefined : batchSize, request);
}

/** `killCursors`. */
export async function killCursorsCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const asked = request.body.get('cursors');
  const killed: Long[] = [];
  const notFound: Long[] = [];
  for (const id of Array.isArray(asked) ? asked : []) {
    if (id instanceof Long) ((await context.cursors.kill(id, request)) ? killed : notFound).push(id);
  }
  return doc(['cursorsKilled', killed], ['cursorsNotFound', notFound], ['cursorsAlive', []], ['cursorsUnknown', []]);
}
