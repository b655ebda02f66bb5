import { parseCollation } from '../../bson/collation.js';
import { Long } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';
import { compileMatcher } from '../../query/matcher.js';
import { completeReply, FIRST_BATCH_DOCUMENTS, firstBatchReply } from '../cursor/cursor-reply.js';
import { during } from '../execution-error.js';
import { failure } from '../failure.js';
import { DocumentSource } from '../read/document-source.js';
import { filteredAccess } from '../read/read-concern.js';
import { isOplogRead, oplogReadDocuments } from '../read/oplog-source.js';
import { filteredDocuments, queryDocuments, type Query } from '../read/query.js';
import { recordScan } from '../read/record-scan.js';
import { TailSource } from '../read/tail-source.js';
import { collectionTail, oplogTail } from '../read/tail.js';
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
  if (collection === undefined && !isOplogRead(namespace)) return missingReply(query, namespace);
  const tails = isTrue(request.body.get('tailable'));
  const source = tails
    ? tailSource(context, collection, query)
    : documentSource(context, namespace, collection, query, point);
  const noTimeout = isTrue(request.body.get('noCursorTimeout'));
  const owner = {
    namespace,
    collectionUuid: collection?.uuid.toString('hex'),
    session: sessionText(context),
    atTime: point.atClusterTime !== undefined,
    noTimeout,
  };
  const options = {
    batchSize: optionalNumber(context, 'batchSize') ?? FIRST_BATCH_DOCUMENTS,
    singleBatch: isTrue(request.body.get('singleBatch')) || (optionalNumber(context, 'limit') ?? 0) < 0,
    maxTimeMs: optionalNumber(context, 'maxTimeMS'),
    signal: request.signal,
  };
  return during(state.version.atLeast(5, 0) ? 'Executor error during find command' : '', () =>
    firstBatchReply(state.cursors, source, owner, options),
  );
}

function documentSource(
  context: CommandContext,
  namespace: string,
  collection: Collection | undefined,
  query: Query,
  point: ReadPoint,
): DocumentSource {
  const { request, state } = context;
  const documents =
    collection === undefined
      ? oplogEntries(context, namespace, query)
      : queryDocuments(collection, query, point.view, filteredAccess(request));
  const { records } = query;
  const token = records?.showsToken === true ? () => records.token : undefined;
  return new DocumentSource(documents, state.history, point.atClusterTime, token);
}

/**
 * A source that stays open at the end of a capped collection.
 * @throws CommandError 9 or 2 for reads that cannot be tailed
 */
function tailSource({ request, state }: CommandContext, collection: Collection | undefined, query: Query): TailSource {
  if (isTrue(request.body.get('singleBatch')))
    throw failure.failedToParse("Cannot use tailable option with the 'singleBatch' option");
  const take = collection === undefined ? oplogTail(state, query) : collectionTail(collection, query);
  return new TailSource(take, state.oplog, isTrue(request.body.get('awaitData')));
}

/** Parses the fields of a find. @throws CommandError for wrong types and negative numbers */
function readQuery(context: CommandContext, ofCollection: Query['collation']): Query {
  const collation = optionalDoc(context, 'collation');
  const skip = optionalNumber(context, 'skip') ?? 0;
  const limit = Math.abs(optionalNumber(context, 'limit') ?? 0);
  const batchSize = optionalNumber(context, 'batchSize') ?? 0;
  if (isTrue(context.request.body.get('awaitData')) && !isTrue(context.request.body.get('tailable'))) {
    throw failure.failedToParse('Cannot set awaitData without tailable');
  }
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

/** The oplog and the pre-images only support natural order, forward or backward. */
function oplogEntries({ state }: CommandContext, namespace: string, query: Query): Generator<Uint8Array | undefined> {
  const direction = (numberOf(query.sort?.get('$natural')) ?? 1) < 0 ? -1 : 1;
  return filteredDocuments(oplogReadDocuments(state, namespace, direction), query);
}

/** A missing collection has no documents, but an invalid filter is refused all the same. */
function missingReply(query: Query, namespace: string): Doc {
  compileMatcher(query.filter, query.collation, query.variables);
  return completeReply([], namespace);
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
