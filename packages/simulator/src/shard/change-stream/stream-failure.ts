import { documentText } from '../../bson/text.js';
import type { Doc } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import type { ServerVersion } from '../../node/server-version.js';

/** The server's label for errors after which a stream cannot be resumed. */
const nonResumable = ['NonResumableChangeStreamError'];

/** The oplog no longer reaches back to the start of a stream (286). */
export function historyLost(): CommandError {
  return new CommandError(
    286,
    'ChangeStreamHistoryLost',
    'Resume of change stream was not possible, as the resume point may no longer be in the oplog.',
    nonResumable,
  );
}

/**
 * The oplog overran an open stream (136), as in the server's own tests of rolled over oplogs.
 * @param lastSeen record id of the last read entry
 */
export function positionLost(lastSeen: bigint): CommandError {
  return new CommandError(
    136,
    'CappedPositionLost',
    'CollectionScan died due to position in capped collection being deleted. Last seen record id: ' +
      `RecordId(${lastSeen})`,
  );
}

/** @param tokenFound token of the event in the place of the resume token */
export function tokenNotFound(tokenFound: string): CommandError {
  return fatal(`cannot resume stream; the resume token was not found. {_data: "${tokenFound}"}`);
}

/** @param found the event's `_id` after a pipeline */
export function tokenModified(expected: Doc, found: Doc): CommandError {
  return fatal(
    'Encountered an event whose _id field, which contains the resume token, was modified by the pipeline. ' +
      'Modifying the _id field of an event makes it ' +
      'impossible to resume the stream from that point. Only transformations that retain the unmodified _id ' +
      'field are allowed. ' +
      `Expected: ${documentText(expected)} but found: ${documentText(found)}`,
  );
}

export function fatal(message: string): CommandError {
  return new CommandError(280, 'ChangeStreamFatalError', message, nonResumable);
}

/** An event that no reply can hold (10334). @param firstElement text of the event's first field */
export function eventTooLarge(bytes: number, bytesMax: number, firstElement: string): CommandError {
  const hex = `0x${bytes.toString(16).toUpperCase()}`;
  return new CommandError(
    10334,
    'BSONObjectTooLarge',
    `BSONObj size: ${bytes} (${hex}) is invalid. Size must be between 0 and ${bytesMax}(16MB) First element: ` +
      firstElement,
  );
}

/** A required image does not exist (47). */
export function imageMissing(image: 'pre' | 'post', event: Doc): CommandError {
  const events = image === 'pre' ? 'update, delete and replace' : 'update';
  const shown = ['operationType', 'ns', 'clusterTime', 'txnNumber']
    .map((name) => shownField(event, name))
    .filter((text) => text !== '');
  return new CommandError(
    47,
    'NoMatchingDocument',
    `Change stream was configured to require a ${image}-image for all ${events} events, but the ${image}-image ` +
      `was not found for event: {${shown.join(', ')}}`,
  );
}

function shownField(event: Doc, name: string): string {
  const value = event.get(name);
  if (value === undefined) return '';
  return documentText(new Map([[name, value]])).slice(2, -2);
}

/** Prefix of `aggregate` for a failure in the first batch. None in 4.4. */
export function openContext(version: ServerVersion): string {
  return version.atLeast(5) ? 'PlanExecutor error during aggregation' : '';
}

/** Prefix of `getMore` for a failure. None in 4.4. */
export function getMoreContext(version: ServerVersion): string {
  return version.atLeast(5) ? 'Executor error during getMore' : '';
}

/** The same failure with the prefix of the command during which it occurred. */
export function inContext(error: unknown, context: string): unknown {
  if (!(error instanceof CommandError) || context === '') return error;
  return new CommandError(
    error.code,
    error.codeName,
    `${context} :: caused by :: ${error.message}`,
    error.labels,
    error.extra,
  );
}
