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
import { deleteMeasurements, insertMeasurements, updateMeasurements } from '../time-series/measurement-writes.js';
import * as series from '../time-series/series-definitions.js';
import { ofSeries } from '../time-series/series-target.js';

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
  ['insert', ofSeries(insertMeasurements, insert)],
  ['update', ofSeries(updateMeasurements, update)],
  ['delete', ofSeries(deleteMeasurements, deleteDocuments)],
  ['findAndModify', ofSeries(series.refuseFindAndModify, findAndModify)],
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
  ['collMod', alone(ofSeries(series.modifySeries, collMod), named)],
  ['createIndexes', alone(ofSeries(series.createSeriesIndexes, createIndexes), withNewIndexes)],
  ['dropIndexes', alone(ofSeries(series.dropSeriesIndexes, dropIndexes), existing)],
  ['listIndexes', ofSeries(series.listSeriesIndexes, listIndexes)],
  ['listCollections', listCollections],
  ['listDatabases', listDatabases],
  ['collStats', presentOnly(ofSeries(series.seriesStats, collStats))],
  ['dbStats', presentOnly(dbStats)],
  ['dataSize', presentOnly(dataSize)],
  ['validate', ofSeries(series.refuseValidate, validate)],
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
