import { Timestamp } from 'bson';
import { decodeResumeToken, type ResumeToken } from '../../bson/resume-token.js';
import { documentText, valueText } from '../../bson/text.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { isTrue } from '../../node/doc-fields.js';
import type { ServerVersion } from '../../node/server-version.js';
import { failure } from '../failure.js';
import type { FullDocument, FullDocumentBeforeChange, StreamScope, StreamStage, StreamStart } from './shard-stream.js';

const classicFields: readonly string[] = [
  'allChangesForCluster',
  'allowToRunOnConfigDB',
  'allowToRunOnSystemNS',
  'fullDocument',
  'fullDocumentBeforeChange',
  'resumeAfter',
  'showMigrationEvents',
  'startAfter',
  'startAtOperationTime',
];
/** Since 6.0 (manual, `$changeStream`). */
const expandedFields: readonly string[] = ['showExpandedEvents', 'showRawUpdateDescription', 'showSystemEvents'];

/**
 * Parses the operand of `$changeStream`.
 * @param onRouter true for a stream that a router merges
 * @throws CommandError as the server of this version
 */
export function readStreamStage(operand: Value, version: ServerVersion, onRouter: boolean): StreamStage {
  if (!(operand instanceof Map))
    throw new CommandError(50808, 'Location50808', `$changeStream stage expects a document as argument`);
  for (const name of operand.keys()) {
    const known = classicFields.includes(name) || (version.atLeast(6) && expandedFields.includes(name));
    if (!known) throw failure.unknownField(`$changeStream.${name}`);
  }
  const fullDocumentBeforeChange = readFullDocumentBeforeChange(operand);
  if (onRouter && !version.atLeast(6) && fullDocumentBeforeChange !== 'off') {
    throw new CommandError(
      51771,
      'Location51771',
      "the 'fullDocumentBeforeChange' option is not supported in a sharded cluster",
    );
  }
  if (onRouter && isTrue(operand.get('showMigrationEvents'))) {
    throw new CommandError(31123, 'Location31123', 'Change streams from mongos may not show migration events');
  }
  return {
    allChangesForCluster: isTrue(operand.get('allChangesForCluster')),
    allowToRunOnConfigDB: isTrue(operand.get('allowToRunOnConfigDB')),
    allowToRunOnSystemNS: isTrue(operand.get('allowToRunOnSystemNS')) && !onRouter,
    fullDocument: readFullDocument(operand, version),
    fullDocumentBeforeChange,
    showExpandedEvents: isTrue(operand.get('showExpandedEvents')),
    showRawUpdateDescription: isTrue(operand.get('showRawUpdateDescription')),
    showSystemEvents: isTrue(operand.get('showSystemEvents')),
    start: readStart(operand, version),
  };
}

function readFullDocument(operand: Doc, version: ServerVersion): FullDocument {
  const value = operand.get('fullDocument') ?? 'default';
  if (value === 'default' || value === 'updateLookup') return value;
  if (version.atLeast(6) && (value === 'whenAvailable' || value === 'required')) return value;
  if (version.atLeast(6) || typeof value !== 'string') throw notAmong(value, 'fullDocument');
  const message =
    `unrecognized value for the 'fullDocument' option to the $changeStream stage. Expected "default" or ` +
    `"updateLookup", got "${value}"`;
  throw new CommandError(40575, 'Location40575', message);
}

function readFullDocumentBeforeChange(operand: Doc): FullDocumentBeforeChange {
  const value = operand.get('fullDocumentBeforeChange') ?? 'off';
  if (value === 'off' || value === 'whenAvailable' || value === 'required') return value;
  throw notAmong(value, 'fullDocumentBeforeChange');
}

function notAmong(value: Value, field: string): CommandError {
  return failure.badValue(
    `Enumeration value '${typeof value === 'string' ? value : valueText(value)}' for field ` +
      `'$changeStream.${field}' is not a valid value.`,
  );
}

function readStart(operand: Doc, version: ServerVersion): StreamStart | undefined {
  const time = operand.get('startAtOperationTime');
  const resumeAfter = operand.get('resumeAfter');
  const startAfter = operand.get('startAfter');
  if (resumeAfter !== undefined && startAfter !== undefined) {
    throw new CommandError(
      50865,
      'Location50865',
      "Do not specify both 'resumeAfter' and 'startAfter' in a $changeStream stage",
    );
  }
  const token = resumeAfter ?? startAfter;
  if (time !== undefined && token !== undefined) {
    throw new CommandError(
      40674,
      'Location40674',
      sentence(version, 'Only one type of resume option is allowed, but multiple were found'),
    );
  }
  if (time instanceof Timestamp) return { kind: 'time', clusterTime: time };
  if (time !== undefined)
    throw failure.typeMismatch(
      "BSON field '$changeStream.startAtOperationTime' is the wrong type, expected type 'timestamp'",
    );
  if (token === undefined) return undefined;
  const data = token instanceof Map ? token.get('_data') : undefined;
  if (typeof data !== 'string') {
    const got = token instanceof Map ? documentText(token) : valueText(token);
    throw new CommandError(
      40647,
      'Location40647',
      `Bad resume token: _data of missing or of wrong type. Expected string, got ${got}`,
    );
  }
  return { kind: 'token', token: data, afterInvalidate: startAfter !== undefined };
}

/**
 * The scope of a stream opened by `aggregate` on a database and collection.
 * @param collection undefined for `aggregate: 1`
 * @throws CommandError 72 and 73 where no stream may be opened
 */
export function streamScope(stage: StreamStage, db: string, collection: string | undefined): StreamScope {
  if (stage.allChangesForCluster) {
    if (db !== 'admin' || collection !== undefined) {
      throw failure.invalidOptions(
        "A $changeStream with 'allChangesForCluster:true' may only be opened on the 'admin' database, and with " +
          'no collection name; found ' +
          `${db}.${collection ?? '$cmd.aggregate'}`,
      );
    }
    return { kind: 'cluster' };
  }
  if (db === 'admin' || db === 'local' || (db === 'config' && !stage.allowToRunOnConfigDB)) {
    throw failure.invalidNamespace(`$changeStream may not be opened on the internal ${db} database`);
  }
  if (collection?.startsWith('system.') === true && !stage.allowToRunOnSystemNS) {
    throw failure.invalidNamespace(`$changeStream may not be opened on the internal ${db}.${collection} collection`);
  }
  return collection === undefined ? { kind: 'database', db } : { kind: 'collection', db, collection };
}

/**
 * Reads the resume token of a stream.
 * @throws CommandError 260 for tokens at which this stream may not resume, and as `decodeResumeToken`
 */
export function readStartToken(
  start: Extract<StreamStart, { kind: 'token' }>,
  scope: StreamScope,
  version: ServerVersion,
): ResumeToken {
  const token = decodeResumeToken(start.token, version.atLeast(6) ? 2 : 1);
  if (token.fromInvalidate && !start.afterInvalidate) {
    throw invalidToken(
      sentence(
        version,
        "Attempting to resume a change stream using 'resumeAfter' is not allowed from an invalidate notification",
      ),
    );
  }
  if (scope.kind === 'collection' && token.tokenType === 'event' && token.uuid === undefined) {
    throw invalidToken(
      sentence(version, 'Attempted to resume a single-collection stream, but the resume token does not include a UUID'),
    );
  }
  return token;
}

/** Before 6.0 messages about the start ended in a full stop. */
function sentence(version: ServerVersion, text: string): string {
  return version.atLeast(6) ? text : `${text}.`;
}

function invalidToken(message: string): CommandError {
  return new CommandError(260, 'InvalidResumeToken', message);
}
