import { Int32, Long } from 'bson';
import { parseCollation } from '../../bson/collation.js';
import { decodeDocument } from '../../bson/decode.js';
import { encodeDocument } from '../../bson/encode.js';
import type { Doc, Value } from '../../bson/value.js';
import { numberOf } from '../../node/doc-fields.js';
import { compilePipeline } from '../../pipeline/stages.js';
import { completeReply, FIRST_BATCH_DOCUMENTS, firstBatchReply } from '../cursor/cursor-reply.js';
import { failure } from '../failure.js';
import { DocumentSource } from '../read/document-source.js';
import { queryDocuments } from '../read/query.js';
import { sourceStageDocuments } from '../read/source-stages.js';
import type { View } from '../storage/catalog.js';
import type { Collection } from '../storage/collection.js';
import { LATEST } from '../storage/time-key.js';
import { writeStage } from '../write/pipeline-output.js';
import { openStreamCursor } from './change-stream-cursor.js';
import { letVariables } from './let-variables.js';
import {
  optionalDoc,
  optionalNumber,
  readPoint,
  refuseUnknownFields,
  refuseUnreadable,
  sessionText,
  targetNamespace,
  typeName,
  type CommandContext,
  type ReadPoint,
} from './command-context.js';

const FIELDS: ReadonlySet<string> = new Set([
  'pipeline', 'explain', 'allowDiskUse', 'cursor', 'bypassDocumentValidation', 'collation', 'hint', 'let', 'needsMerge', 'fromMongos',
  'exchange', 'runtimeConstants', 'legacyRuntimeConstants', 'use44SortKeys', 'isMapReduceCommand', 'collectionUUID',
]);
/** How deep views may stand on views. */
const VIEW_DEPTH_MAX = 20;

/** `aggregate`: a pipeline over a collection or view, or a change stream. */
export async function aggregate(context: CommandContext): Promise<Doc> {
  refuseUnknownFields(context, FIELDS);
  const { request } = context;
  const stages = readStages(request.body.get('pipeline'));
  if (!(request.body.get('cursor') instanceof Map)) {
    throw failure.failedToParse("The 'cursor' option is required, except for aggregate with the explain argument");
  }
  const named = request.body.get(request.name);
  const wholeDatabase = numberOf(named) === 1;
  if (stages[0]?.has('$changeStream') === true) {
    return openStreamCursor(context, stages, wholeDatabase ? undefined : targetNamespace(context));
  }
  if (wholeDatabase) return runPipeline(context, `${request.db}.$cmd.aggregate`, undefined, stages);
  const namespace = targetNamespace(context);
  const view = context.state.catalog.view(namespace);
  return view === undefined ? runPipeline(context, namespace, namespace, stages) : aggregateView(context, view, stages);
}

/** Runs stages over a view: its own pipeline first, over what it stands on. */
export function aggregateView(context: CommandContext, view: View, stages: readonly Doc[]): Promise<Doc> {
  const { catalog } = context.state;
  const db = view.namespace.slice(0, view.namespace.indexOf('.'));
  let all = [...readStages(view.pipeline), ...stages];
  let below = `${db}.${view.viewOn}`;
  for (let depth = 0; depth < VIEW_DEPTH_MAX; depth += 1) {
    const next = catalog.view(below);
    if (next === undefined) break;
    all = [...readStages(next.pipeline), ...all];
    below = `${db}.${next.viewOn}`;
  }
  return runPipeline(context, view.namespace, below, all);
}

function readStages(pipeline: Value | undefined): Doc[] {
  if (!Array.isArray(pipeline)) throw failure.typeMismatch(`'pipeline' option must be specified as an array`);
  return pipeline.map((stage) => {
    if (stage instanceof Map) return stage;
    throw failure.typeMismatch(`Each element of the 'pipeline' array must be an object, found ${typeName(stage)}`);
  });
}

/**
 * @param shownNamespace the namespace of the reply
 * @param namespace the collection to read; undefined for none
 */
async function runPipeline(context: CommandContext, shownNamespace: string, namespace: string | undefined, stages: readonly Doc[]): Promise<Doc> {
  const { state, request } = context;
  const point = readPoint(context);
  const collection = namespace === undefined ? undefined : state.catalog.collection(namespace);
  if (collection !== undefined) refuseUnreadable(collection, point);
  const output = stages.at(-1);
  const writes = output !== undefined && (output.has('$out') || output.has('$merge'));
  const documents = pipelineDocuments(context, collection, namespace, writes ? stages.slice(0, -1) : stages, point);
  if (writes) {
    writeStage(context, output, documents);
    return completeReply([], shownNamespace);
  }
  const source = new DocumentSource(documents, state.history, collection === undefined ? undefined : point.atClusterTime);
  const owner = { namespace: shownNamespace, collectionUuid: collection?.uuid.toString('hex'), session: sessionText(context) };
  const cursor = optionalDoc(context, 'cursor');
  return firstBatchReply(state.cursors, source, owner, {
    batchSize: numberOf(cursor?.get('batchSize')) ?? FIRST_BATCH_DOCUMENTS,
    singleBatch: false,
    maxTimeMs: optionalNumber(context, 'maxTimeMS'),
    signal: request.signal,
  });
}

/** The results of stages as bytes. A leading `$match` chooses the scan; documents that no stage looks at stay bytes. */
function pipelineDocuments(
  context: CommandContext,
  collection: Collection | undefined,
  namespace: string | undefined,
  stages: readonly Doc[],
  point: ReadPoint,
): Generator<Uint8Array | undefined> {
  const variables = letVariables(context);
  const collationSpec = optionalDoc(context, 'collation');
  const collation = collationSpec === undefined ? collection?.collation : parseCollation(collationSpec);
  const provided = sourceStageDocuments(context.state, namespace, collection, stages[0]);
  const filter = provided === undefined ? stages[0]?.get('$match') : undefined;
  const rest = provided !== undefined || filter instanceof Map ? stages.slice(1) : stages;
  const run = rest.length === 0 ? undefined : compilePipeline([...rest], { ...variables, collation, lookup: (from: string) => lookedUp(context, from, point) });
  if (provided !== undefined) return encoded(run === undefined ? provided : run(provided));
  if (collection === undefined) return encoded(run === undefined ? [] : run([]));
  const query = {
    filter: filter instanceof Map ? filter : new Map<string, Value>(),
    sort: undefined,
    projection: undefined,
    skip: 0,
    limit: Infinity,
    hint: context.request.body.get('hint'),
    min: undefined,
    max: undefined,
    collation,
    variables,
  };
  const found = queryDocuments(collection, query, point.view, context.request.routed);
  return run === undefined ? found : encoded(run(decoded(found)));
}

function* decoded(documents: Iterable<Uint8Array | undefined>): Generator<Doc> {
  for (const bytes of documents) if (bytes !== undefined) yield decodeDocument(bytes);
}

function* encoded(documents: Iterable<Doc>): Generator<Uint8Array> {
  for (const doc of documents) yield encodeDocument(doc);
}

/** The documents of another collection of the database, for `$lookup` and its kin. */
function lookedUp(context: CommandContext, from: string, point: ReadPoint): Iterable<Doc> {
  const collection = context.state.catalog.collection(`${context.request.db}.${from}`);
  if (collection === undefined) return [];
  return decoded(queryDocuments(collection, WHOLE_COLLECTION, point.view, context.request.routed));
}

const WHOLE_COLLECTION = {
  filter: new Map<string, Value>(),
  sort: undefined,
  projection: undefined,
  skip: 0,
  limit: Infinity,
  hint: undefined,
  min: undefined,
  max: undefined,
  collation: undefined,
  variables: {},
};

/** `count`: how many documents match, without orphans when a router asks. */
export function count(context: CommandContext): Doc {
  const { state, request, participation } = context;
  const namespace = targetNamespace(context);
  const collection = state.catalog.collection(namespace);
  const filter = optionalDoc(context, 'query') ?? new Map<string, Value>();
  const skip = numberOf(request.body.get('skip')) ?? 0;
  const limit = Math.abs(numberOf(request.body.get('limit')) ?? 0);
  if (collection === undefined) return new Map([['n', new Int32(0)]]);
  if (filter.size === 0 && skip === 0 && limit === 0 && participation.transaction === null) {
    return new Map([['n', countValue(collection.documentCount)]]);
  }
  const query = { ...WHOLE_COLLECTION, filter, skip, limit: limit === 0 ? Infinity : limit, hint: request.body.get('hint'), collation: collection.collation };
  const view = participation.transaction?.view ?? { time: LATEST, transaction: null };
  let n = 0;
  for (const bytes of queryDocuments(collection, query, view, request.routed)) if (bytes !== undefined) n += 1;
  return new Map([['n', countValue(n)]]);
}

function countValue(n: number): Value {
  return n === (n | 0) ? new Int32(n) : Long.fromNumber(n);
}

/** `distinct`: the different values of a field, elements of arrays one by one. */
export function distinct(context: CommandContext): Doc {
  const { state, request, participation } = context;
  const key = request.body.get('key');
  if (typeof key !== 'string') throw failure.typeMismatch("BSON field 'distinct.key' is the wrong type, expected type 'string'");
  const collection = state.catalog.collection(targetNamespace(context));
  if (collection === undefined) return new Map([['values', []]]);
  const filter = optionalDoc(context, 'query') ?? new Map<string, Value>();
  const view = participation.transaction?.view ?? { time: LATEST, transaction: null };
  const documents = decoded(queryDocuments(collection, { ...WHOLE_COLLECTION, filter, collation: collection.collation }, view, request.routed));
  const stages = [unwind(key), group(key), new Map([['$sort', new Map([['_id', new Int32(1)]])]])];
  const groups = compilePipeline(stages, { collation: collection.collation })(documents);
  return new Map([['values', [...groups].filter((found) => found.has('_id')).map((found) => found.get('_id') ?? null)]]);
}

function unwind(key: string): Doc {
  return new Map([['$unwind', `$${key}`]]);
}

function group(key: string): Doc {
  return new Map([['$group', new Map([['_id', `$${key}`]])]]);
}
