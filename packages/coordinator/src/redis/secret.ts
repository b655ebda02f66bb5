import { inspect } from 'node:util';

/** What is shown in the place of a secret. */
const HIDDEN = '[hidden]';

/** A text that never shows when its holder is logged, printed or turned into JSON. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The text itself, for the one call that needs it. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return HIDDEN;
  }

  toJSON(): string {
    return HIDDEN;
  }

  [inspect.custom](): string {
    return HIDDEN;
  }
}
