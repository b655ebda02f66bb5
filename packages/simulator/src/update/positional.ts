import { documentText } from '../bson/text.js';
import type { Doc, Value } from '../bson/value.js';
import { CommandError } from '../node/command.js';
import { compileMatcher } from '../query/matcher.js';
import { badValue, failedToParse } from '../query/query-error.js';
import type { UpdateOptions } from './update-options.js';

/** The array filters of an update by their names. */
export class ArrayFilters {
  readonly #filters = new Map<string, (doc: Doc) => boolean>();

  /** @throws CommandError for a filter that is wrong, has no or several names, or a name in use */
  constructor(options: UpdateOptions) {
    for (const filter of options.arrayFilters ?? []) {
      const matches = compiled(filter, options);
      const name = filterName(filter);
      if (this.#filters.has(name))
        throw failedToParse(`Found multiple array filters with the same top-level field name ${name}`);
      this.#filters.set(name, matches);
    }
  }

  get identifiers(): ReadonlySet<string> {
    return new Set(this.#filters.keys());
  }

  /** The update must use every filter. @throws CommandError 9 */
  refuseUnused(update: Doc): void {
    if (this.#filters.size === 0) return;
    const used = new Set(
      [...update.values()].flatMap((fields) => (fields instanceof Map ? [...fields.keys()] : [])).flatMap(identifiers),
    );
    for (const name of this.#filters.keys()) {
      if (!used.has(name))
        throw failedToParse(
          `The array filter for identifier '${name}' was not used in the update ${documentText(update)}`,
        );
    }
  }

  /** The indexes of the elements that `$[]` or `$[name]` stands for. */
  indexes(component: string, items: readonly Value[]): number[] {
    const name = component.slice(2, -1);
    const matches = this.#filters.get(name);
    return items.flatMap((item, index) => (matches?.(new Map([[name, item]])) === false ? [] : [index]));
  }
}

function compiled(filter: Doc, options: UpdateOptions): (doc: Doc) => boolean {
  try {
    return compileMatcher(filter, options.collation, options.context);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new CommandError(error.code, error.codeName, `Error parsing array filter :: caused by :: ${error.message}`);
  }
}

/** The names in `$[name]` of a path. */
function identifiers(path: string): string[] {
  return [...path.matchAll(/\$\[([^\]]+)\]/g)].map(([, name]) => name ?? '');
}

/** True for `$[]` and `$[name]`. */
export function isPositional(component: string): boolean {
  return component.startsWith('$');
}

/** Valid names of array filters. */
const IDENTIFIER = /^[a-z][a-zA-Z0-9]*$/;

function filterName(filter: Doc): string {
  const names = new Set([...filter].flatMap(([field, operand]) => topNames(field, operand)));
  const [name, other] = names;
  if (name === undefined)
    throw failedToParse('Cannot use an expression without a top-level field name in arrayFilters');
  if (!IDENTIFIER.test(name)) {
    throw badValue(
      'Error parsing array filter :: caused by :: The top-level field name must be an alphanumeric string ' +
        `beginning with a lowercase letter, found '${name}'`,
    );
  }
  if (other !== undefined)
    throw failedToParse(
      `Error parsing array filter :: caused by :: Expected a single top-level field name, found '${name}' and ` +
        `'${other}'`,
    );
  return name;
}

function topNames(field: string, operand: Value): string[] {
  if (!field.startsWith('$')) return [field.split('.')[0] ?? field];
  return Array.isArray(operand)
    ? operand.flatMap((part) =>
        part instanceof Map ? [...part].flatMap(([name, inner]) => topNames(name, inner)) : [],
      )
    : [];
}
