import { parseCollation } from '../../bson/collation.js';
import { Long } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';
import type { ServerVersion } from '../../node/server-version.js';
import { unsimulated } from '../../node/unsimulated.js';
import { compileMatcher } from '../../query/matcher.js';
import { emptyReply, FIRST_BATCH_DOCUMENTS, firstBatchReply } from '../cursor/cursor-reply.js';
import { during } from '../execution-error.js';
import { failure } from '../failure.js';
import { DocumentSource } from '../read/document-source.js';
import { filteredAccess } from '../read/read-concern.js';
import { OPLOG_NAMESPACE, oplogDocuments } from '../oplog/oplog-documents.js';
import { filteredDocuments, queryDocuments, type Query } from '../read/query.js';
import { recordScan } from '../read/record-scan.js';
import type { Collection } from '../storage/collection.js';
import { aggregateView } from './aggregate.js';
import {
  optionalDoc,
  optionalNumber,
  readPoint,
  readTarget,
  refuseUnknownFields,
  sessionText,
  type CommandContext,
  type ReadPoint,
} from './command-context.js';
import { requireExpectedCollection } from './expected-collection.js';
import { letVariables } from './let-variables.js';

const FIELDS: ReadonlySet<string> = new Set([
  'filter',
  'sort',
  'projection',
  'hint',
  'skip',
  'limit',
  'batchSize',
  'singleBatch',
  'min',
  'max',
  'returnKey',
  'showRecordId',
  'tailable',
  'oplogReplay',
  'noCursorTimeout',
  'awaitData',
  'allowPartialResults',
  'collation',
  'allowDiskUse',
  'let',
  'ntoreturn',
  'collectionUUID',
  '$_requestResumeToken',
  '$_resumeAfter',
]);

/** `find`: the documents of a collection or view, in batches. */
export async function find(context: CommandContext): Promise<Doc> {
  refuseUnknownFields(context, FIELDS);
  const point = readPoint(context);
  const { namespace, collection } = readTarget(context, point);
  const query = readQuery(context, collection?.collation);
  const { request, state } = context;
  const view = state.catalog.view(namespace);
  requireExpectedCollection(context, namespace, collection);
  if (view !== undefined) return aggregateView(context, view, viewPipeline(query));
  if (collection === undefined && namespace !== OPLOG_NAMESPACE)
    return missingReply(query, namespace, context.state.version);
  const source = documentSource(context, collection, query, point);
  const owner = {
    namespace,
    collectionUuid: collection?.uuid.toString('hex'),
    session: sessionText(context),
    atTime: point.atClusterTime !== undefined,
  };
  const options = {
    batchSize: optionalNumber(context, 'batchSize') ?? FIRST_BATCH_DOCUMENTS,
    singleBatch: isTrue(request.body.get('singleBatch')) || (optionalNumber(context, 'limit') ?? 0) < 0,
    maxTimeMs: optionalNumber(context, 'maxTimeMS'),
    signal: request.signal,
  };
  return during(executionOf(state.version, namespace), () => firstBatchReply(state.cursors, source, owner, options));
}

/** The prefix of failures over documents. */
function executionOf(version: ServerVersion, namespace: string): string {
  if (version.atLeast(8, 0)) return `Executor error during find command: ${namespace}`;
  return version.atLeast(5, 0) ? 'Executor error during find command' : '';
}

function documentSource(
  context: CommandContext,
  collection: Collection | undefined,
  query: Query,
  point: ReadPoint,
): DocumentSource {
  const { request, state } = context;
  const documents =
    collection === undefined
      ? oplogEntries(context, query)
      : queryDocuments(collection, query, point.view, filteredAccess(request));
  const { records } = query;
  const token = records?.showsToken === true ? () => records.token : undefined;
  return new DocumentSource(documents, state.history, point.atClusterTime, token);
}

/** Parses the fields of a find. @throws CommandError for wrong types and negative numbers */
function readQuery(context: CommandContext, ofCollection: Query['collation']): Query {
  const collation = optionalDoc(context, 'collation');
  const skip = optionalNumber(context, 'skip') ?? 0;
  const limit = Math.abs(optionalNumber(context, 'limit') ?? 0);
  const batchSize = optionalNumber(context, 'batchSize') ?? 0;
  if (isTrue(context.request.body.get('tailable'))) throw unsimulated('a tailable cursor of find');
  if (isTrue(context.request.body.get('noCursorTimeout'))) throw unsimulated('find.noCursorTimeout');
  if (isTrue(context.request.body.get('awaitData')))
    throw failure.failedToParse('Cannot set awaitData without tailable');
  if (skip < 0) throw failure.badValue(`BSON field 'skip' value must be >= 0, actual value '${skip}'`);
  if (batchSize < 0) throw failure.badValue(`BSON field 'batchSize' value must be >= 0, actual value '${batchSize}'`);
  return {
    filter: optionalDoc(context, 'filter') ?? new Map<string, Value>(),
    sort: nonEmpty(optionalDoc(context, 'sort')),
    projection: optionalDoc(context, 'projection'),
    skip,
    limit: limit === 0 ? Infinity : limit,
    hint: context.request.body.get('hint'),
    batchSize: optionalNumber(context, 'batchSize'),
    min: nonEmpty(optionalDoc(context, 'min')),
    max: nonEmpty(optionalDoc(context, 'max')),
    collation: collation === undefined ? ofCollection : parseCollation(collation),
    variables: letVariables(context),
    records: recordScan(context),
  };
}

function nonEmpty(doc: Doc | undefined): Doc | undefined {
  return doc === undefined || doc.size === 0 ? undefined : doc;
}

/** The oplog only supports natural order, forward or backward. */
function oplogEntries({ state }: CommandContext, query: Query): Generator<Uint8Array | undefined> {
  const direction = (numberOf(query.sort?.get('$natural')) ?? 1) < 0 ? -1 : 1;
  return filteredDocuments(oplogDocuments(state.oplog, state.version, direction), query);
}

/** A missing collection has no documents, but an invalid filter is refused all the same. */
function missingReply(query: Query, namespace: string, version: ServerVersion): Doc {
  compileMatcher(query.filter, query.collation, query.variables);
  return emptyReply(namespace, version);
}

function viewPipeline(query: Query): Doc[] {
  const stages: Doc[] = [];
  if (query.filter.size > 0) stages.push(new Map([['$match', query.filter]]));
  if (query.sort !== undefined) stages.push(new Map([['$sort', query.sort]]));
  if (query.skip > 0) stages.push(new Map([['$skip', Long.fromNumber(query.skip)]]));
  if (query.limit !== Infinity) stages.push(new Map([['$limit', Long.fromNumber(query.limit)]]));
  if (query.projection !== undefined && query.projection.size > 0)
    stages.push(new Map([['$project', query.projection]]));
  return stages;
}
