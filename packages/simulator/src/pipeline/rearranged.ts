import type { Doc } from '../bson/value.js';
import { CommandError } from '../node/command.js';
import { unsimulated } from '../node/unsimulated.js';
import type { RunStage } from './stage.js';

/** Stages that servers bring before others, which then are not computed for all documents. */
const broughtForward: ReadonlySet<string> = new Set(['$match', '$skip']);

/** How many stages of a pipeline stand before the last one that servers may bring before them. */
export function countRearranged(stages: readonly Doc[]): number {
  return Math.max(
    0,
    stages.findLastIndex((stage) => [...stage.keys()].some((name) => broughtForward.has(name))),
  );
}

/**
 * Runs stages that servers may not come to with all documents.
 * @throws CommandError 115 for what fails in them; what fails before them is passed on
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
