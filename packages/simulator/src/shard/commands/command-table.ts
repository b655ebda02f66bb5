import {
  abortTransaction,
  commitTransaction,
  killSessions,
  prepareTransaction,
  recoverCommitDecision,
  refreshSessions,
  startSession,
} from './session-commands.js';
import { refuseUnsimulated } from '../../node/unsimulated.js';
import { appendOplogNote, hashElement, resizeOplog, splitVector } from './administration.js';
import { aggregate } from './aggregate.js';
import { alone, existing, named, renamed, usedInDatabase, withNewIndexes } from './alone.js';
import { collMod } from './coll-mod.js';
import { type CommandHandler, refuseSnapshot } from './command-context.js';
import { count, distinct } from './count-distinct.js';
import { create } from './create.js';
import { deleteDocuments } from './delete.js';
import { drop, dropDatabase } from './drop.js';
import { find } from './find.js';
import { findAndModify } from './find-and-modify.js';
import { getMore, killCursors } from './get-more.js';
import { createIndexes, dropIndexes, listIndexes } from './indexes.js';
import { insert } from './insert.js';
import { listCollections, listDatabases } from './lists.js';
import { convertToCapped, renameCollection } from './rename-collection.js';
import { currentOperations } from './operations.js';
import { collStats, dataSize, dbStats, validate } from './statistics.js';
import { update } from './update.js';

/** Commands that read, but not at a time. */
function presentOnly(handler: CommandHandler): CommandHandler {
  return (context) => {
    refuseSnapshot(context);
    return handler(context);
  };
}

/** Commands that members of some releases have and that are not simulated. */
const unsimulatedCommands = ['bulkWrite', 'explain', 'killOp'];

/** Every command that a shard answers itself, by its names. */
export const commandTable: ReadonlyMap<string, CommandHandler> = new Map<string, CommandHandler>([
  ['insert', insert],
  ['update', update],
  ['delete', deleteDocuments],
  ['findAndModify', findAndModify],
  ['find', find],
  ['getMore', getMore],
  ['killCursors', killCursors],
  ['aggregate', aggregate],
  ['count', presentOnly(count)],
  ['distinct', distinct],
  ['create', create],
  ['drop', alone(drop, existing)],
  ['dropDatabase', alone(dropDatabase, usedInDatabase)],
  ['renameCollection', alone(renameCollection, renamed)],
  ['convertToCapped', alone(convertToCapped, named)],
  ['collMod', alone(collMod, named)],
  ['createIndexes', alone(createIndexes, withNewIndexes)],
  ['dropIndexes', alone(dropIndexes, existing)],
  ['listIndexes', listIndexes],
  ['listCollections', listCollections],
  ['listDatabases', listDatabases],
  ['collStats', presentOnly(collStats)],
  ['dbStats', presentOnly(dbStats)],
  ['dataSize', presentOnly(dataSize)],
  ['validate', validate],
  ['splitVector', splitVector],
  ['appendOplogNote', appendOplogNote],
  ['_hashBSONElement', hashElement],
  ['replSetResizeOplog', resizeOplog],
  ['startSession', startSession],
  ['refreshSessions', refreshSessions],
  ['endSessions', killSessions],
  ['killSessions', killSessions],
  ['killAllSessions', killSessions],
  ['commitTransaction', commitTransaction],
  ['abortTransaction', abortTransaction],
  ['currentOp', currentOperations],
  ['prepareTransaction', prepareTransaction],
  ['coordinateCommitTransaction', recoverCommitDecision],
  ...unsimulatedCommands.map((name): [string, CommandHandler] => [name, ({ request }) => refuseUnsimulated(request)]),
]);

/** Names of those commands. */
export const dataCommandNames: readonly string[] = [...commandTable.keys()];
