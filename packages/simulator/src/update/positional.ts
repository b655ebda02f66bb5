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
  constructor(private readonly options: UpdateOptions) {
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

  /** The paths of one document. */
  paths(before: Doc, query: Doc | undefined): PositionalPaths {
    return new PositionalPaths(before, query ?? new Map<string, Value>(), this.options, this.#filters);
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

/** Finds the array elements that `$`, `$[]` and `$[name]` in a path stand for. */
export class PositionalPaths {
  constructor(
    private readonly before: Doc,
    private readonly query: Doc,
    private readonly options: UpdateOptions,
    private readonly filters: ReadonlyMap<string, (doc: Doc) => boolean>,
  ) {}

  /**
   * The indexes of a positional component.
   * @param path dotted path of the array
   * @throws CommandError 2 when the query matched no element
   */
  indexes(component: string, items: readonly Value[], path: string): number[] {
    if (component === '$') return [this.#matchedIndex(items, path)];
    if (component === '$[]') return items.map((_item, index) => index);
    const name = component.slice(2, -1);
    const matches = this.filters.get(name);
    if (matches === undefined)
      throw badValue(`No array filter found for identifier '${name}' in path '${path}.${component}'`);
    return items.flatMap((item, index) => (matches(new Map([[name, item]])) ? [index] : []));
  }

  /** The first element that alone in its array would match the query. */
  #matchedIndex(items: readonly Value[], path: string): number {
    const conditions = conditionsOn(this.query, path, this.before);
    const matches = compileMatcher(conditions, this.options.collation, this.options.context);
    const index =
      conditions.size === 0 ? -1 : items.findIndex((item) => matches(withValue(this.before, path.split('.'), [item])));
    if (index === -1) throw badValue('The positional operator did not find the match needed from the query.');
    return index;
  }
}

/** The names in `$[name]` of a path. */
function identifiers(path: string): string[] {
  return [...path.matchAll(/\$\[([^\]]+)\]/g)].map(([, name]) => name ?? '');
}

/** True for `$`, `$[]` and `$[name]`. */
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

/** The conditions of a query on an array or inside it. Of alternatives only those that the document matches. */
function conditionsOn(query: Doc, path: string, before: Doc): Doc {
  const kept: Doc = new Map();
  for (const [field, operand] of query) {
    if (field === path || field.startsWith(`${path}.`)) kept.set(field, operand);
    if ((field === '$and' || field === '$or') && Array.isArray(operand)) {
      for (const part of operand) {
        if (!(part instanceof Map) || (field === '$or' && !compileMatcher(part)(before))) continue;
        for (const [name, inner] of conditionsOn(part, path, before)) kept.set(name, inner);
      }
    }
  }
  return kept;
}

function withValue(doc: Doc, path: readonly string[], value: Value): Doc {
  const [name = '', ...rest] = path;
  const inner = doc.get(name);
  return new Map(doc).set(name, rest.length > 0 && inner instanceof Map ? withValue(inner, rest, value) : value);
}
