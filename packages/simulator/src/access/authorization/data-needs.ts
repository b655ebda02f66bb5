import { scanPath } from '../../bson/scan.js';
import type { CommandRequest } from '../../node/command.js';
import { docOrEmpty, isTrue, textOrEmpty } from '../../node/doc-fields.js';
import { databaseOf } from '../../node/namespace.js';
import { aggregateNeeds, pipelineNeeds } from './pipeline-needs.js';
import {
  type Declaration,
  fullName,
  namedResource,
  type Need,
  onDatabase,
  onFullyNamed,
  onNamed,
  onNamedOrUuid,
} from './need.js';

/** Adds what bypassing a collection's validator needs. */
function writing(actions: (request: CommandRequest) => string[]): Declaration {
  return (request) => {
    const bypass = isTrue(request.body.get('bypassDocumentValidation')) ? ['bypassDocumentValidation'] : [];
    return [{ resource: namedResource(request), actions: [...actions(request), ...bypass] }];
  };
}

function updateActions({ sequences, body }: CommandRequest): string[] {
  const sent = sequences.get('updates') ?? [];
  const listed = body.get('updates');
  const upserts =
    sent.some((statement) => scanPath(statement, 'upsert') === true) ||
    (Array.isArray(listed) && listed.some((each) => isTrue(docOrEmpty(each).get('upsert'))));
  return upserts ? ['update', 'insert'] : ['update'];
}

function findAndModifyActions({ body }: CommandRequest): string[] {
  if (isTrue(body.get('remove'))) return ['find', 'remove'];
  return isTrue(body.get('upsert')) ? ['find', 'update', 'insert'] : ['find', 'update'];
}

/** Creating a view needs no privilege to read it. For other collections that to insert is enough (8.0.10 source). */
function createNeeds(request: CommandRequest): Need[] {
  const { body, db } = request;
  const viewed = body.get('viewOn');
  const resource = namedResource(request);
  const capped: Need[] = isTrue(body.get('capped')) ? [{ resource, actions: ['convertToCapped'] }] : [];
  const made: Need = { resource, actions: ['createCollection'] };
  return typeof viewed === 'string'
    ? [made, ...pipelineNeeds(db, viewed, body.get('pipeline')).map((need) => ({ ...need, ofReaders: resource }))]
    : [...capped, { ...made, orElse: 'insert' }];
}

function collModNeeds(request: CommandRequest): Need[] {
  const { body, db } = request;
  const changed: Need = { resource: namedResource(request), actions: ['collMod'] };
  const viewed = body.get('viewOn');
  return typeof viewed === 'string' ? [changed, ...pipelineNeeds(db, viewed, body.get('pipeline'))] : [changed];
}

/**
 * Within one database a rename has an action of its own, which must not let a user read more than before. Between
 * databases it needs what a copy would need.
 */
function renameNeeds({ body }: CommandRequest): Need[] {
  const [from, to] = [textOrEmpty(body.get('renameCollection')), textOrEmpty(body.get('to'))];
  const dropped: Need[] = isTrue(body.get('dropTarget'))
    ? [{ resource: fullName(to), actions: ['dropCollection'] }]
    : [];
  if (databaseOf(from) === databaseOf(to)) {
    const unread: Need = { resource: fullName(from), actions: ['find'], ofReaders: fullName(to) };
    return [{ resource: fullName(from), actions: ['renameCollectionSameDB'] }, unread, ...dropped];
  }
  return [
    { resource: fullName(from), actions: ['find', 'dropCollection'] },
    { resource: fullName(to), actions: ['insert', 'createIndex'] },
    ...dropped,
  ];
}

/** Commands on data, collections and indexes. */
export const dataNeeds: readonly (readonly [string, Declaration])[] = [
  ['find', onNamedOrUuid('find')],
  ['count', onNamedOrUuid('find')],
  ['distinct', onNamed('find')],
  ['aggregate', aggregateNeeds],
  ['getMore', 'login'],
  ['killCursors', 'login'],
  ['insert', writing(() => ['insert'])],
  ['update', writing(updateActions)],
  ['delete', writing(() => ['remove'])],
  ['findAndModify', writing(findAndModifyActions)],
  ['bulkWrite', 'login'],
  ['explain', 'login'],
  ['create', createNeeds],
  ['drop', onNamed('dropCollection')],
  ['dropDatabase', onDatabase('dropDatabase')],
  ['renameCollection', renameNeeds],
  ['convertToCapped', onNamed('convertToCapped')],
  ['collMod', collModNeeds],
  ['createIndexes', onNamed('createIndex')],
  ['dropIndexes', onNamed('dropIndex')],
  ['listIndexes', onNamedOrUuid('listIndexes')],
  ['listCollections', 'login'],
  ['listDatabases', 'login'],
  ['collStats', onNamed('collStats')],
  ['dbStats', onDatabase('dbStats')],
  ['dataSize', onFullyNamed('find')],
  ['validate', onNamed('validate')],
  ['splitVector', onFullyNamed('splitVector')],
];
