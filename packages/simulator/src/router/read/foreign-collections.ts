import { decodeDocument } from '../../bson/decode.js';
import type { Doc, Value } from '../../bson/value.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import { databaseOf } from '../../node/namespace.js';
import { compilePipeline } from '../../pipeline/stages.js';
import type { PipelineContext } from '../../pipeline/stage.js';
import type { RouterContext } from '../router-context.js';
import { ShardOwnership } from '../target/shard-ownership.js';
import { resolveView } from './views.js';

/**
 * Names of the other collections that a pipeline reads: by `$lookup`, `$graphLookup` and `$unionWith`, also in inner
 * pipelines.
 */
export function foreignCollections(pipeline: readonly Value[]): string[] {
  return pipeline.flatMap((stage) =>
    stage instanceof Map ? [...stage].flatMap(([name, operand]) => namesOf(name, operand)) : [],
  );
}

function namesOf(name: string, operand: Value): string[] {
  if (name === '$unionWith' && typeof operand === 'string') return [operand];
  if (!(operand instanceof Map)) return [];
  if (name === '$facet')
    return [...operand.values()].flatMap((inner) => (Array.isArray(inner) ? foreignCollections(inner) : []));
  const named =
    name === '$unionWith'
      ? operand.get('coll')
      : name === '$lookup' || name === '$graphLookup'
        ? operand.get('from')
        : undefined;
  const inner = operand.get('pipeline');
  return [...(typeof named === 'string' ? [named] : []), ...(Array.isArray(inner) ? foreignCollections(inner) : [])];
}

/** True when a shard alone has everything that a pipeline reads of the database's other collections. */
export function readsLocally(
  context: RouterContext,
  db: string,
  shard: ClusterShard,
  pipeline: readonly Doc[],
): boolean {
  return foreignCollections(pipeline).every((name) => {
    const namespace = `${db}.${name}`;
    const base = resolveView(context, namespace)?.namespace ?? namespace;
    return context.catalog.collection(base) === undefined && context.primaryOf(base)?.id === shard.id;
  });
}

/** The live documents of a collection or view, wherever they are, without orphans. */
export function* foreignDocuments(
  context: RouterContext,
  namespace: string,
  pipelineContext: PipelineContext,
): Generator<Doc> {
  const view = resolveView(context, namespace);
  if (view === undefined) {
    yield* collectionDocuments(context, namespace);
    return;
  }
  const lookup = (from: string): Iterable<Doc> =>
    foreignDocuments(context, `${databaseOf(namespace)}.${from}`, pipelineContext);
  yield* compilePipeline(view.stages, { ...pipelineContext, lookup })(collectionDocuments(context, view.namespace));
}

function* collectionDocuments(context: RouterContext, namespace: string): Generator<Doc> {
  for (const shard of context.holdersOf(namespace)) {
    const owned = new ShardOwnership(context.catalog, shard, {});
    for (const document of shard.access.documents(namespace, (bytes) => owned.owns(namespace, bytes)))
      yield decodeDocument(document);
  }
}
