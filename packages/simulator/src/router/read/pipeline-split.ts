import type { Doc } from '../../bson/value.js';

/** Stages that look at one document at a time, or that each shard answers for itself. */
const perDocument: ReadonlySet<string> = new Set([
  '$match',
  '$project',
  '$addFields',
  '$set',
  '$unset',
  '$unwind',
  '$replaceRoot',
  '$replaceWith',
  '$collStats',
  '$indexStats',
  '$currentOp',
]);
/** Stages that a shard may do in advance on its own part, before the router does them on the whole. */
const repeatable: ReadonlySet<string> = new Set(['$sort', '$limit', '$sample']);

/** What the shards run of a pipeline and what the router runs on the documents they send. */
export function splitPipeline(pipeline: readonly Doc[]): { onShards: Doc[]; onRouter: Doc[] } {
  const onShards: Doc[] = [];
  for (const [index, stage] of pipeline.entries()) {
    const name = stage.keys().next().value ?? '';
    if (perDocument.has(name)) {
      onShards.push(stage);
      continue;
    }
    const onRouter = pipeline.slice(index);
    if (repeatable.has(name)) onShards.push(...leadingRepeatable(onRouter));
    return { onShards, onRouter };
  }
  return { onShards, onRouter: [] };
}

/** `$sort` may be followed by `$limit` on a shard; anything else ends with the first stage. */
function leadingRepeatable(stages: readonly Doc[]): Doc[] {
  const [first, second] = stages;
  if (first === undefined) return [];
  return first.has('$sort') && second?.has('$limit') === true ? [first, second] : [first];
}
