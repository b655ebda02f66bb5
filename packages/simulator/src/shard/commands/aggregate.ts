import { parseCollation, type Collation } from '../../bson/collation.js';
import { decodeDocument } from '../../bson/decode.js';
import { encodeDocument } from '../../bson/encode.js';
import { documentText } from '../../bson/text.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { numberOf } from '../../node/doc-fields.js';
import { refuseFailingConstants } from '../../pipeline/constant-failures.js';
import { drawn, sampleSize } from '../../pipeline/sample.js';
import { compilePipeline } from '../../pipeline/stages.js';
import { completeReply, FIRST_BATCH_DOCUMENTS, firstBatchReply } from '../cursor/cursor-reply.js';
import { completeCollation } from '../collation-spec.js';
import { during } from '../execution-error.js';
import { failure } from '../failure.js';
import { DocumentSource } from '../read/document-source.js';
import { filteredAccess } from '../read/read-concern.js';
import { OPLOG_NAMESPACE, oplogDocuments } from '../oplog/oplog-documents.js';
import { queryDocuments } from '../read/query.js';
import { sourceStageDocuments } from '../read/source-stages.js';
import { timeSeriesOf } from '../../time-series/bucketing.js';
import { bucketIndexKey } from '../../time-series/translation.js';
import type { View } from '../storage/catalog.js';
import type { Collection } from '../storage/collection.js';
import { writeStage } from '../write/pipeline-output.js';
import { openStreamCursor } from './change-stream-cursor.js';
import { requireExpectedCollection } from './expected-collection.js';
import { letVariables } from './let-variables.js';
import { currentOpStage } from './operations.js';
import {
  optionalDoc,
  optionalNumber,
  readPoint,
  refuseUnknownFields,
  readCollection,
  sessionText,
  targetNamespace,
  type CommandContext,
  type ReadPoint,
} from './command-context.js';
import { typeName } from '../../bson/type-of.js';

const FIELDS: ReadonlySet<string> = new Set([
  'pipeline',
  'explain',
  'allowDiskUse',
  'cursor',
  'bypassDocumentValidation',
  'collation',
  'hint',
  'let',
  'needsMerge',
  'fromMongos',
  'exchange',
  'runtimeConstants',
  'legacyRuntimeConstants',
  'use44SortKeys',
  'isMapReduceCommand',
  'collectionUUID',
]);
/** The collation of string comparisons. Undefined for the simple one. */
interface ReadCollation {
  readonly collation: Collation | undefined;
}

/** Limit of the depth of views on views. */
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
  requireExpectedCollection(context, namespace, readCollection(context.state, namespace, readPoint(context)));
  const view = context.state.catalog.view(namespace);
  return view === undefined ? runPipeline(context, namespace, namespace, stages) : aggregateView(context, view, stages);
}

/** Runs stages over a view: its own pipeline first, over its collection. */
export function aggregateView(context: CommandContext, view: View, stages: readonly Doc[]): Promise<Doc> {
  const resolved = resolvedView(context, view);
  return runPipeline(
    context,
    view.namespace,
    resolved.namespace,
    [...resolved.stages, ...stages],
    viewCollation(context, view),
  );
}

/** The documents of a view after further stages. */
export function* viewDocuments(context: CommandContext, view: View, stages: readonly Doc[]): Generator<Doc> {
  const { namespace, stages: own } = resolvedView(context, view);
  const point = readPoint(context);
  const collection = readCollection(context.state, namespace, point);
  yield* decoded(
    pipelineDocuments(context, collection, namespace, [...own, ...stages], point, viewCollation(context, view)),
  );
}

/**
 * The collation of a view: its own, or the simple one if it was created without.
 * @throws CommandError 167 when the command asks for another
 */
export function viewCollation(context: CommandContext, view: View): ReadCollation {
  const own = view.options.get('collation');
  const asked = optionalDoc(context, 'collation');
  const complete = asked === undefined ? undefined : completeCollation(asked);
  const text = (spec: Value | undefined): string => (spec instanceof Map ? documentText(spec) : '');
  if (asked !== undefined && text(complete) !== text(own)) {
    throw new CommandError(167, 'OptionNotSupportedOnView', "Cannot override a view's default collation");
  }
  return { collation: own instanceof Map ? parseCollation(own) : undefined };
}

/** The collection under a view, through other views, and the stages from there to the view. */
function resolvedView({ state }: CommandContext, view: View): { namespace: string; stages: Doc[] } {
  const db = view.namespace.slice(0, view.namespace.indexOf('.'));
  let stages = readStages(view.pipeline);
  let below = `${db}.${view.viewOn}`;
  for (let depth = 0; depth < VIEW_DEPTH_MAX; depth += 1) {
    const next = state.catalog.view(below);
    if (next === undefined) break;
    stages = [...readStages(next.pipeline), ...stages];
    below = `${db}.${next.viewOn}`;
  }
  return { namespace: below, stages };
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
async function runPipeline(
  context: CommandContext,
  shownNamespace: string,
  namespace: string | undefined,
  stages: readonly Doc[],
  ofView?: ReadCollation,
): Promise<Doc> {
  const { state, request } = context;
  const point = readPoint(context);
  const collection = namespace === undefined ? undefined : readCollection(state, namespace, point);
  const output = stages.at(-1);
  const writes = output?.has('$out') === true;
  const documents = pipelineDocuments(
    context,
    collection,
    namespace,
    writes ? stages.slice(0, -1) : stages,
    point,
    ofView,
  );
  if (writes) {
    writeStage(context, output, documents);
    return completeReply([], shownNamespace);
  }
  const source = new DocumentSource(
    documents,
    state.history,
    collection === undefined ? undefined : point.atClusterTime,
  );
  const owner = {
    namespace: shownNamespace,
    collectionUuid: collection?.uuid.toString('hex'),
    session: sessionText(context),
    atTime: point.atClusterTime !== undefined,
  };
  const cursor = optionalDoc(context, 'cursor');
  const options = {
    batchSize: numberOf(cursor?.get('batchSize')) ?? FIRST_BATCH_DOCUMENTS,
    singleBatch: false,
    maxTimeMs: optionalNumber(context, 'maxTimeMS'),
    signal: request.signal,
  };
  return during(executionOf(context), () => firstBatchReply(state.cursors, source, owner, options));
}

/** The prefix of failures over documents. */
function executionOf({ state: { version } }: CommandContext): string {
  return version.atLeast(5, 0) ? 'PlanExecutor error during aggregation' : '';
}

/**
 * The results of stages as bytes. A leading `$match` chooses the scan. A leading `$sample` draws before anything is
 * decoded. Documents that no stage reads stay bytes.
 */
function pipelineDocuments(
  context: CommandContext,
  collection: Collection | undefined,
  namespace: string | undefined,
  stages: readonly Doc[],
  point: ReadPoint,
  ofView?: ReadCollation,
): Generator<Uint8Array | undefined> {
  const variables = letVariables(context);
  const { collation } = ofView ?? ownCollation(context, collection);
  refuseFailingConstants(stages, variables);
  const provided =
    currentOpStage(context, stages[0]) ??
    sourceStageDocuments(context.state, namespace, collection, stages[0], context.request.routed !== undefined);
  const filter = provided === undefined ? stages[0]?.get('$match') : undefined;
  const rest = provided !== undefined || filter instanceof Map ? stages.slice(1) : stages;
  const run =
    rest.length === 0
      ? undefined
      : compilePipeline([...rest], {
          ...variables,
          collation,
          lookup: (from: string) => lookedUp(context, from, point),
        });
  if (provided !== undefined) return encoded(run === undefined ? provided : run(provided));
  if (collection === undefined) {
    const read = oplogRead(context, namespace);
    return encoded(
      read === undefined ? (run?.([]) ?? []) : compilePipeline([...stages], { ...variables, collation })(read),
    );
  }
  const query = {
    filter: filter instanceof Map ? filter : new Map<string, Value>(),
    sort: undefined,
    projection: undefined,
    skip: 0,
    limit: Infinity,
    hint: hintOf(context, collection, stages),
    min: undefined,
    max: undefined,
    collation,
    variables,
  };
  const found = queryDocuments(collection, query, point.view, filteredAccess(context.request));
  if (run === undefined) return found;
  const [first] = rest;
  if (first?.has('$sample') !== true) return encoded(run(decoded(found)));
  // Compiled above, it draws all of the documents that were drawn here.
  return encoded(run(decoded(drawn(present(found), sampleSize(first.get('$sample') ?? null)))));
}

/** A hint by the key of an index over measurements is one over the buckets that the view reads. */
function hintOf(
  { request, state }: CommandContext,
  { options }: Collection,
  [first]: readonly Doc[],
): Value | undefined {
  const hint = request.body.get('hint');
  const series = first?.has('$_internalUnpackBucket') === true ? timeSeriesOf(options) : undefined;
  if (series === undefined || !(hint instanceof Map) || hint.has('$natural')) return hint;
  return bucketIndexKey(series, hint, state.version) ?? hint;
}

function ownCollation(context: CommandContext, collection: Collection | undefined): ReadCollation {
  const asked = optionalDoc(context, 'collation');
  return { collation: asked === undefined ? collection?.collation : parseCollation(asked) };
}

function oplogRead({ state }: CommandContext, namespace: string | undefined): Iterable<Doc> | undefined {
  return namespace === OPLOG_NAMESPACE ? decoded(oplogDocuments(state.oplog, state.version, 1)) : undefined;
}

function* present(documents: Iterable<Uint8Array | undefined>): Generator<Uint8Array> {
  for (const bytes of documents) if (bytes !== undefined) yield bytes;
}

function* decoded(documents: Iterable<Uint8Array | undefined>): Generator<Doc> {
  for (const bytes of documents) if (bytes !== undefined) yield decodeDocument(bytes);
}

function* encoded(documents: Iterable<Doc>): Generator<Uint8Array> {
  for (const doc of documents) yield encodeDocument(doc);
}

/** The documents of another collection of the database, for `$lookup` and similar stages. */
function lookedUp(context: CommandContext, from: string, point: ReadPoint): Iterable<Doc> {
  const view = context.state.catalog.view(`${context.request.db}.${from}`);
  if (view !== undefined) return viewDocuments(context, view, []);
  const collection = readCollection(context.state, `${context.request.db}.${from}`, point);
  if (collection === undefined) return [];
  return decoded(queryDocuments(collection, WHOLE_COLLECTION, point.view, filteredAccess(context.request)));
}

/** A query for every document of a collection. */
export const WHOLE_COLLECTION = {
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
