import { Long } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { cursorReply } from '../cursor/cursor-reply.js';
import { refuseForeignSession } from '../cursor/cursor-session.js';
import type { OpenCursor } from '../cursor/cursors.js';
import { during } from '../execution-error.js';
import { failure } from '../failure.js';
import { optionalNumber, sessionText, type CommandContext } from './command-context.js';

/** `getMore`: the next batch of an open cursor. */
export async function getMore(context: CommandContext): Promise<Doc> {
  const { request, state } = context;
  const cursor = openCursor(context);
  if (request.body.has('maxTimeMS') && cursor.source.awaitsData !== true) {
    throw failure.badValue('cannot set maxTimeMS on getMore command for a non-awaitData cursor');
  }
  cursor.inUse = true;
  try {
    const size = optionalNumber(context, 'batchSize');
    const what = state.version.atLeast(5, 0) ? 'Executor error during getMore' : '';
    const batch = await during(what, () =>
      cursor.source.next(size === 0 ? undefined : size, optionalNumber(context, 'maxTimeMS'), request.signal),
    );
    if (batch.exhausted) state.cursors.close(cursor);
    return cursorReply('nextBatch', batch, batch.exhausted ? 0n : cursor.id, cursor.namespace);
  } catch (error) {
    state.cursors.close(cursor);
    throw error;
  } finally {
    cursor.inUse = false;
    cursor.lastUsedMs = state.now();
  }
}

function openCursor(context: CommandContext): OpenCursor {
  const { request, state } = context;
  const id = request.body.get('getMore');
  const collection = request.body.get('collection');
  if (!(id instanceof Long))
    throw failure.typeMismatch("BSON field 'getMore.getMore' is the wrong type, expected type 'long'");
  if (typeof collection !== 'string')
    throw failure.typeMismatch("BSON field 'getMore.collection' is the wrong type, expected type 'string'");
  const cursor = state.cursors.get(id.toBigInt());
  if (cursor === undefined) throw failure.cursorNotFound(id.toString());
  const namespace = `${request.db}.${collection}`;
  if (cursor.namespace !== namespace) {
    throw new CommandError(
      13,
      'Unauthorized',
      `Requested getMore on namespace '${namespace}', but cursor belongs to a different namespace ${cursor.namespace}`,
    );
  }
  refuseForeignSession(id.toString(), cursor.session, sessionText(context));
  if (cursor.killedBy !== undefined) {
    state.cursors.close(cursor);
    throw cursor.killedBy;
  }
  if (cursor.inUse) throw new CommandError(143, 'CursorInUse', `cursor id ${id.toString()} is already in use`);
  return cursor;
}

/** `killCursors`: closes cursors and returns those that were open. */
export function killCursors({ request, state }: CommandContext): Doc {
  const ids = request.body.get('cursors');
  if (!Array.isArray(ids))
    throw failure.typeMismatch("BSON field 'killCursors.cursors' is the wrong type, expected type 'array'");
  const killed: Value[] = [];
  const missing: Value[] = [];
  for (const id of ids) {
    const cursor = id instanceof Long ? state.cursors.get(id.toBigInt()) : undefined;
    if (cursor === undefined) missing.push(id);
    else {
      state.cursors.close(cursor);
      killed.push(id);
    }
  }
  return new Map<string, Value>([
    ['cursorsKilled', killed],
    ['cursorsNotFound', missing],
    ['cursorsAlive', []],
    ['cursorsUnknown', []],
  ]);
}
