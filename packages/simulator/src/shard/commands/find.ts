import { parseCollation } from '../../bson/collation.js';
import { Long } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';
import { compileMatcher } from '../../query/matcher.js';
import { completeReply, FIRST_BATCH_DOCUMENTS, firstBatchReply } from '../cursor/cursor-reply.js';
import { failure } from '../failure.js';
import { OPLOG_NAMESPACE, oplogDocuments } from '../oplog/oplog-documents.js';
import { DocumentSource } from '../read/document-source.js';
import { filteredDocuments, queryDocuments, type Query } from '../read/query.js';
import { aggregateView } from './aggregate.js';
import {
  optionalDoc,
  optionalNumber,
  readPoint,
  readTarget,
  refuseUnknownFields,
  refuseUnreadable,
  sessionText,
  type CommandContext,
} from './command-context.js';
import { letVariables } from './let-variables.js';

const FIELDS: ReadonlySet<string> = new Set([
  'filter', 'sort', 'projection', 'hint', 'skip', 'limit', 'batchSize', 'singleBatch', 'min', 'max', 'returnKey', 'showRecordId',
  'tailable', 'oplogReplay', 'noCursorTimeout', 'awaitData', 'allowPartialResults', 'collation', 'allowDiskUse', 'let', 'ntoreturn',
]);

/** `find`: the documents of a collection or view, in batches. */
export async function find(context: CommandContext): Promise<Doc> {
  refuseUnknownFields(context, FIELDS);
  const { namespace, collection } = readTarget(context);
  const point = readPoint(context);
  const query = readQuery(context, collection?.collation);
  const { request, state } = context;
  const view = state.catalog.view(namespace);
  if (view !== undefined) return aggregateView(context, view, viewPipeline(query));
  if (collection === undefined && namespace !== OPLOG_NAMESPACE) return missingReply(query, namespace);
  if (collection !== undefined) refuseUnreadable(collection, point);
  const documents =
    collection === undefined ? oplogEntries(context, query) : queryDocuments(collection, query, point.view, request.routed);
  const source = new DocumentSource(documents, state.history, point.atClusterTime);
  const owner = { namespace, collectionUuid: collection?.uuid.toString('hex'), session: sessionText(context) };
  return firstBatchReply(state.cursors, source, owner, {
    batchSize: optionalNumber(context, 'batchSize') ?? FIRST_BATCH_DOCUMENTS,
    singleBatch: isTrue(request.body.get('singleBatch')) || (optionalNumber(context, 'limit') ?? 0) < 0,
    maxTimeMs: optionalNumber(context, 'maxTimeMS'),
    signal: request.signal,
  });
}

/** Reads the fields of a find. Throws CommandError for wrong types and negative numbers. */
function readQuery(context: CommandContext, ofCollection: Query['collation']): Query {
  const collation = optionalDoc(context, 'collation');
  const skip = optionalNumber(context, 'skip') ?? 0;
  const limit = Math.abs(optionalNumber(context, 'limit') ?? 0);
  const batchSize = optionalNumber(context, 'batchSize') ?? 0;
  if (skip < 0) throw failure.badValue(`BSON field 'skip' value must be >= 0, actual value '${skip}'`);
  if (batchSize < 0) throw failure.badValue(`BSON field 'batchSize' value must be >= 0, actual value '${batchSize}'`);
  return {
    filter: optionalDoc(context, 'filter') ?? new Map<string, Value>(),
    sort: nonEmpty(optionalDoc(context, 'sort')),
    projection: optionalDoc(context, 'projection'),
    skip,
    limit: limit === 0 ? Infinity : limit,
    hint: context.request.body.get('hint'),
    min: nonEmpty(optionalDoc(context, 'min')),
    max: nonEmpty(optionalDoc(context, 'max')),
    collation: collation === undefined ? ofCollection : parseCollation(collation),
    variables: letVariables(context),
  };
}

function nonEmpty(doc: Doc | undefined): Doc | undefined {
  return doc === undefined || doc.size === 0 ? undefined : doc;
}

/** The oplog only knows natural order, backward or forward. */
function oplogEntries({ state }: CommandContext, query: Query): Generator<Uint8Array | undefined> {
  const direction = (numberOf(query.sort?.get('$natural')) ?? 1) < 0 ? -1 : 1;
  return filteredDocuments(oplogDocuments(state.oplog, direction), query);
}

/** A missing collection gives nothing, but a bad filter is refused all the same. */
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
  if (query.projection !== undefined && query.projection.size > 0) stages.push(new Map([['$project', query.projection]]));
  return stages;
}
