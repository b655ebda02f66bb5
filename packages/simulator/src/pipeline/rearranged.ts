import type { Doc, Value } from '../bson/value.js';
import { CommandError } from '../node/command.js';
import { unsimulated } from '../node/unsimulated.js';
import type { RunStage } from './stage.js';

/** Stages that servers move ahead of others, which then do not see all documents. */
const broughtForward: ReadonlySet<string> = new Set(['$match', '$skip']);

/** The number of stages before the last one that servers may move ahead of them. */
export function countRearranged(stages: readonly Doc[]): number {
  return Math.max(
    0,
    stages.findLastIndex((stage) => [...stage.keys()].some((name) => broughtForward.has(name))),
  );
}

/**
 * Runs stages that on servers may not see all documents.
 * @throws CommandError 115 for what fails in them; earlier failures are passed on
 */
export function* rearranged(run: RunStage, docs: Iterable<Doc>): Generator<Doc> {
  let before: unknown;
  function* noted(): Generator<Doc> {
    try {
      yield* docs;
    } catch (error) {
      before = error;
      throw error;
    }
  }
  try {
    yield* run(noted());
  } catch (error) {
    throw error === before || !(error instanceof CommandError)
      ? error
      : unsimulated('what fails in stages that servers rearrange');
  }
}

/**
 * 5.0 writes a `$match` anew that it moves ahead of other stages, and cannot read back all that it has written: mostly
 * not `$all` on the elements that `$elemMatch` looks at.
 * @throws CommandError 115 where it may fail so
 */
export function refuseUnreadableMatch(stages: readonly Doc[]): void {
  const first = stages.findIndex((stage) => !stage.has('$match'));
  if (first >= 0 && stages.slice(first).some((stage) => hasAllOfElement(stage.get('$match') ?? null, false)))
    throw unsimulated('$all within $elemMatch of a $match behind other stages');
}

/**
 * Servers read only the parts of documents that later stages need. A `$lookup` by part of the field that it replaces,
 * before a `$project` to part of that field, so puts the field last where it was no document.
 * @throws CommandError 115 for such a pipeline
 */
export function refuseNarrowedLookup(stages: readonly Doc[]): void {
  stages.forEach((stage, at) => {
    const lookup = stage.get('$lookup');
    const [into, by] = lookup instanceof Map ? [lookup.get('as'), lookup.get('localField')] : [];
    if (typeof into !== 'string' || typeof by !== 'string' || !by.startsWith(`${into}.`)) return;
    for (const later of stages.slice(at + 1)) {
      const projection = later.get('$project');
      if (projection instanceof Map && [...projection.keys()].some((path) => path.startsWith(`${into}.`)))
        throw unsimulated('$lookup by part of the field that it replaces, before a $project to part of it');
    }
  });
}

/** @param ofElement whether the operators of a value are those of an element */
function hasAllOfElement(value: Value, ofElement: boolean): boolean {
  if (Array.isArray(value)) return value.some((inner) => hasAllOfElement(inner, ofElement));
  if (!(value instanceof Map)) return false;
  return [...value].some(
    ([name, inner]) =>
      (ofElement && name === '$all' && Array.isArray(inner) && inner.length > 0) ||
      hasAllOfElement(inner, name === '$elemMatch' || (ofElement && name.startsWith('$'))),
  );
}
