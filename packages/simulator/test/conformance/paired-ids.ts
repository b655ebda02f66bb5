import type { Difference } from './compare-outcomes.js';
import type { Asked, Json } from './corpus-file.js';
import { isLeaf, patternsAt } from './mask-reply.js';
import { elementPath, fieldPath, isAbout } from './pattern.js';
import { unorderedLists } from './unordered-lists.js';

/**
 * Random ids of a run by the recorded ones in whose place they stand: the same id must stand for the same everywhere.
 */
export class PairedIds {
  readonly #answered = new Map<string, string>();
  readonly #recorded = new Map<string, string>();

  /** Where ids of an outcome contradict those of earlier ones. The outcomes are equal but for what patterns cover. */
  contradictions(recorded: Json, answered: Json, asked: Asked): Difference[] {
    const found: Difference[] = [];
    this.#collect(recorded, answered, '', asked, found);
    return found;
  }

  #collect(recorded: Json, answered: Json, path: string, asked: Asked, into: Difference[]): void {
    if (unorderedLists.some((list) => list.path === path && isAbout(list, asked))) return;
    if (isLeaf(recorded) || isLeaf(answered)) {
      if (isPaired(recorded, path, asked) && !this.#agree(JSON.stringify(recorded), JSON.stringify(answered)))
        into.push({ path: `${path} (names another)`, recorded, answered });
      return;
    }
    for (const [name, inner] of Object.entries(recorded ?? {})) {
      const other = (answered as Record<string, Json>)[name];
      if (other !== undefined)
        this.#collect(
          inner as Json,
          other,
          Array.isArray(recorded) ? elementPath(path) : fieldPath(path, name),
          asked,
          into,
        );
    }
  }

  #agree(recorded: string, answered: string): boolean {
    const known = this.#answered.get(recorded);
    const back = this.#recorded.get(answered);
    this.#answered.set(recorded, answered);
    this.#recorded.set(answered, recorded);
    return (known === undefined || known === answered) && (back === undefined || back === recorded);
  }
}

/** Whether all patterns that cover a value as a whole stand for ids which are the same wherever they are met. */
function isPaired(value: Json, path: string, asked: Asked): boolean {
  const covering = patternsAt(path, asked).filter(({ covers }) => 'value' in covers && covers.value(value));
  return covering.length > 0 && covering.every((pattern) => pattern.isPaired === true);
}
