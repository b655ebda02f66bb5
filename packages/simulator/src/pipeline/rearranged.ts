import type { Doc } from '../bson/value.js';
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
