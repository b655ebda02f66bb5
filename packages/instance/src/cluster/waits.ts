import type { Wait } from '../async/clock.js';

/** What a process waits for now, for its warnings: calls without an answer, and streams that stand still. */
export class Waits {
  readonly #sources = new Set<() => Iterable<Wait>>();

  /** @param onReopened called for every stream that is opened anew because it stands still */
  constructor(readonly onReopened: (wait: Wait) => void = () => undefined) {}

  /** Adds somebody who waits. @returns removes it again */
  add(source: () => Iterable<Wait>): () => void {
    this.#sources.add(source);
    return () => this.#sources.delete(source);
  }

  /** All present ones, each once, in order. */
  get present(): Wait[] {
    const found = new Map<string, Wait>();
    for (const source of this.#sources) for (const wait of source()) found.set(`${wait.from}\n${wait.what}`, wait);
    return [...found.keys()].sort().flatMap((key) => found.get(key) ?? []);
  }
}
