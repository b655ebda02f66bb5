import type { Doc } from '../../bson/value.js';

/** Stages that read one document at a time, or that each shard answers for itself. */
const perDocument: ReadonlySet<string> = new Set([
  '$match',
  '$project',
  '$addFields',
  '$set',
  '$unset',
  '$unwind',
  '$replaceRoot',
  '$replaceWith',
  '$_internalUnpackBucket',
  '$collStats',
  '$indexStats',
  '$currentOp',
]);
/** Stages that a shard may apply to its own part before the router applies them to the whole. */
const repeatable: ReadonlySet<string> = new Set(['$sort', '$limit', '$sample']);

/** The stages of a pipeline for the shards, and those that the router runs on the documents they send. */
export function splitPipeline(pipeline: readonly Doc[]): { onShards: Doc[]; onRouter: Doc[] } {
  const onShards: Doc[] = [];
  for (const [index, stage] of pipeline.entries()) {
    const name = stage.keys().next().value ?? '';
    if (perDocument.has(name)) {
      onShards.push(asSent(stage));
      continue;
    }
    const onRouter = pipeline.slice(index);
    if (!repeatable.has(name)) return { onShards, onRouter };
    const inOrder = afterSort(onRouter);
    if (inOrder.length === 0) return { onShards: [...onShards, ...leadingRepeatable(onRouter)], onRouter };
    return { onShards: [...onShards, stage, ...inOrder], onRouter: [stage, ...onRouter.slice(1 + inOrder.length)] };
  }
  return { onShards, onRouter: [] };
}

/** A stage as a router passes it on. */
function asSent(stage: Doc): Doc {
  const root = stage.get('$replaceWith');
  return root === undefined ? stage : new Map([['$replaceRoot', new Map([['newRoot', root]])]]);
}

/** The shards run stages that set other fields after a `$sort` by `_id`, as these keep the merge order. */
function afterSort([first, ...others]: readonly Doc[]): Doc[] {
  const sort = first?.get('$sort');
  if (!(sort instanceof Map) || sort.size !== 1 || !sort.has('_id')) return [];
  const end = others.findIndex((stage) => !setsOtherFields(stage));
  return others.slice(0, end === -1 ? others.length : end);
}

function setsOtherFields(stage: Doc): boolean {
  const fields = stage.get('$addFields') ?? stage.get('$set');
  return fields instanceof Map && [...fields.keys()].every((name) => name !== '_id' && !name.startsWith('_id.'));
}

/** `$limit` may follow `$sort` on a shard. Anything else ends with the first stage. */
function leadingRepeatable(stages: readonly Doc[]): Doc[] {
  const [first, second] = stages;
  if (first === undefined) return [];
  return first.has('$sort') && second?.has('$limit') === true ? [first, second] : [first];
}
