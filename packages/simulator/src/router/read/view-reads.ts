import { Int32, Long } from 'bson';
import { parseCollation } from '../../bson/collation.js';
import { decodeDocument } from '../../bson/decode.js';
import { type Doc, RawDocument, type Value } from '../../bson/value.js';
import type { CommandRequest } from '../../node/command.js';
import { doc, docOf, numberOf, textOrEmpty } from '../../node/doc-fields.js';
import { compilePipeline } from '../../pipeline/stages.js';
import { distinctValues } from '../../query/distinct-values.js';
import type { RouterContext } from '../router-context.js';
import { commandCollection } from '../router-context.js';
import { aggregateNamespace } from './aggregate-command.js';
import { foreignDocuments } from './foreign-collections.js';
import { routerVariables } from './router-variables.js';
import { resolveView, withViewCollation } from './views.js';

/** Fields that reads and aggregates share. */
const carried = [
  'lsid',
  'txnNumber',
  'autocommit',
  'startTransaction',
  'readConcern',
  'let',
  'collation',
  'maxTimeMS',
  'comment',
  'hint',
];

/** `find` on a view whose collection is sharded: as a pipeline. */
export function findOverView(context: RouterContext, request: CommandRequest, namespace: string): Promise<Doc> {
  const { body } = request;
  const pipeline: Doc[] = [];
  const add = (stage: string, operand: Value | undefined): void => {
    if (operand instanceof Map ? operand.size > 0 : (numberOf(operand) ?? 0) !== 0)
      pipeline.push(doc([stage, operand ?? null]));
  };
  add('$match', body.get('filter'));
  add('$sort', body.get('sort'));
  add('$skip', body.get('skip'));
  add('$limit', Long.fromNumber(Math.abs(numberOf(body.get('limit')) ?? 0)));
  add('$project', body.get('projection'));
  const batchSize = body.get('batchSize');
  return aggregateNamespace(
    context,
    asAggregate(request, pipeline, batchSize === undefined ? doc() : doc(['batchSize', batchSize])),
    namespace,
    pipeline,
  );
}

/** `count` on such a view. */
export async function countOverView(context: RouterContext, request: CommandRequest, namespace: string): Promise<Doc> {
  const { body } = request;
  const pipeline: Doc[] = [doc(['$match', docOf(body.get('query')) ?? doc()])];
  if ((numberOf(body.get('skip')) ?? 0) > 0) pipeline.push(doc(['$skip', body.get('skip') ?? null]));
  if ((numberOf(body.get('limit')) ?? 0) !== 0)
    pipeline.push(doc(['$limit', Long.fromNumber(Math.abs(numberOf(body.get('limit')) ?? 0))]));
  pipeline.push(doc(['$count', 'n']));
  const reply = await aggregateNamespace(context, asAggregate(request, pipeline, doc()), namespace, pipeline);
  const batch = docOf(reply.get('cursor'))?.get('firstBatch');
  const [counted] = Array.isArray(batch) ? batch : [];
  const document = counted instanceof RawDocument ? decodeDocument(counted.bytes) : docOf(counted);
  return doc(['n', document?.get('n') ?? new Int32(0)]);
}

/** `distinct` on such a view. */
export function distinctOverView(context: RouterContext, request: CommandRequest, namespace: string): Doc {
  const view = resolveView(context, namespace);
  const body = view === undefined ? request.body : withViewCollation(request.body, view);
  const collation = docOf(body.get('collation'));
  const surroundings = {
    ...routerVariables(context, request),
    collation: collation === undefined ? undefined : parseCollation(collation),
  };
  const match = doc(['$match', docOf(body.get('query')) ?? doc()]);
  const documents = compilePipeline([match], surroundings)(foreignDocuments(context, namespace, surroundings));
  return doc(['values', distinctValues(documents, textOrEmpty(body.get('key')), surroundings.collation)]);
}

function asAggregate(request: CommandRequest, pipeline: Doc[], cursor: Doc): CommandRequest {
  const body = doc(['aggregate', commandCollection(request)], ['pipeline', pipeline], ['cursor', cursor]);
  for (const name of carried) {
    const value = request.body.get(name);
    if (value !== undefined) body.set(name, value);
  }
  return { ...request, name: 'aggregate', body };
}
