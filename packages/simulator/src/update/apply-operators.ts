import type { Doc, Value } from '../bson/value.js';
import { valueText } from '../bson/text.js';
import { arrayIndex, splitPath } from '../query/document-path.js';
import { CommandError } from '../node/command.js';
import { badValue } from '../query/query-error.js';
import { ArrayFilters, isPositional } from './positional.js';
import { rewrites } from './rewrites.js';
import { pathNotViable } from './update-error.js';
import type { UpdateOptions, UpdateSite } from './update-options.js';
import { type LeafModification, sortedChildren, type UpdateNode, updateTree } from './update-tree.js';

/** The server's limit for padding an array with nulls. */
const PADDING_ELEMENTS_MAX = 1_500_000;

/** Operators that do nothing where their path leads nowhere. */
const removingOperators = new Set(['$unset', '$pop', '$pull', '$pullAll']);

/**
 * Reads update operators.
 * @returns a function that makes a new document, which shares unchanged values with the old one
 * @throws CommandError for what is wrong with the update, whatever the document
 */
export function compileOperators(update: Doc, options: UpdateOptions): (before: Doc, site: UpdateSite) => Changed {
  const filters = new ArrayFilters(options);
  const tree = updateTree(update, { ...options, identifiers: filters.identifiers });
  filters.refuseUnused(update);
  return (before, site) => {
    const applier = new Applier(before, filters, site.inserting === true);
    const after = applier.document(tree, before, '');
    return { after, rewritten: applier.rewritten };
  };
}

/** A document after operators. */
export interface Changed {
  readonly after: Doc;
  /** Whether an operator counts as a change even if the bytes stay the same. */
  readonly rewritten: boolean;
}

class Applier {
  rewritten = false;

  constructor(
    private readonly before: Doc,
    private readonly filters: ArrayFilters,
    private readonly inserting: boolean,
  ) {}

  document(node: UpdateNode, doc: Doc, path: string): Doc {
    const after = new Map(doc);
    for (const [name, child] of sortedChildren(node)) {
      if (isPositional(name))
        throw badValue(`Cannot apply array updates to non-array element ${lastName(path)}: ${valueText(doc)}`);
      const value = this.#child(child, after.get(name), joined(path, name));
      if (value === undefined) after.delete(name);
      else after.set(name, value);
    }
    return after;
  }

  #array(node: UpdateNode, items: Value[], path: string): Value[] {
    const after = [...items];
    for (const [name, child] of sortedChildren(node)) {
      const indexes = isPositional(name) ? this.filters.indexes(name, items) : [this.#index(node, name, after, path)];
      for (const index of indexes)
        if (index !== undefined) this.#element(child, after, index, joined(path, String(index)));
    }
    return after;
  }

  #index(node: UpdateNode, name: string, items: Value[], path: string): number | undefined {
    const index = arrayIndex(name);
    if (index !== undefined) return index;
    const child = node.children.get(name);
    if (child !== undefined && !this.#creates(child)) {
      refuseNotViable({ children: new Map([[name, child]]) }, items, path);
      return undefined;
    }
    if (child !== undefined) this.#refuseRenameInto(child, joined(path, name));
    throw pathNotViable(name, lastName(path), items);
  }

  /** A rename has its own error for arrays on its path. */
  #refuseRenameInto(node: UpdateNode, path: string): void {
    if (node.modification?.operator === '$rename') refuseArrays(this.before, path, 'destination');
    const [first] = sortedChildren(node).filter(([, child]) => this.#creates(child));
    if (first !== undefined) this.#refuseRenameInto(first[1], joined(path, first[0]));
  }

  /** A removed array element leaves null. */
  #element(node: UpdateNode, items: Value[], index: number, path: string): void {
    const present = items[index];
    const value = this.#child(node, present, path);
    if (value === undefined && present === undefined) return;
    if (index - items.length > PADDING_ELEMENTS_MAX)
      throw badValue(`Attempting to set index ${index} of an array of ${items.length} elements would pad too much`);
    while (items.length < index) items.push(null);
    items[index] = value ?? null;
  }

  #child(node: UpdateNode, present: Value | undefined, path: string): Value | undefined {
    if (node.modification !== undefined) return this.#leaf(node.modification, present, path);
    if (present instanceof Map) return this.document(node, present, path);
    if (Array.isArray(present)) return this.#array(node, present, path);
    if (!this.#creates(node)) {
      if (present !== undefined) refuseNotViable(node, present, path);
      return present;
    }
    if (present === undefined) {
      if ([...node.children.keys()].some(isPositional))
        throw badValue(`The path '${path}' must exist in the document in order to apply array updates.`);
      return this.document(node, new Map(), path);
    }
    for (const [name, child] of sortedChildren(node)) {
      if (isPositional(name))
        throw badValue(`Cannot apply array updates to non-array element ${lastName(path)}: ${valueText(present)}`);
      if (this.#creates(child)) {
        this.#refuseRenameInto(child, joined(path, name));
        throw pathNotViable(name, lastName(path), present);
      }
      refuseNotViable({ children: new Map([[name, child]]) }, present, path);
    }
    return present;
  }

  #leaf(modification: LeafModification, present: Value | undefined, path: string): Value | undefined {
    const { operator, operand, change } = modification;
    this.rewritten ||= rewrites(modification, present);
    if (operator === '$rename')
      return typeof operand === 'string' ? this.#renamed(operand, path, present) : this.#unlessRenamed(path, present);
    return change({ present, path, name: lastName(path), id: this.before.get('_id'), inserting: this.inserting });
  }

  /** The value that a rename moves here. */
  #renamed(from: string, to: string, present: Value | undefined): Value | undefined {
    const value = renamedValue(this.before, from);
    if (value === undefined) return present;
    refuseArrays(this.before, from, 'source');
    refuseArrays(this.before, to, 'destination');
    return value;
  }

  #unlessRenamed(from: string, present: Value | undefined): Value | undefined {
    return renamedValue(this.before, from) === undefined ? present : undefined;
  }

  /** Whether something below would create a missing field. */
  #creates({ modification, children }: UpdateNode): boolean {
    if (modification === undefined) return [...children.values()].some((child) => this.#creates(child));
    const { operator, operand } = modification;
    if (operator === '$rename') return typeof operand === 'string' && renamedValue(this.before, operand) !== undefined;
    return !removingOperators.has(operator) && (operator !== '$setOnInsert' || this.inserting);
  }
}

/** Operators that remove something need a path that could lead somewhere. `$unset` does not. @throws CommandError 28 */
function refuseNotViable(node: UpdateNode, present: Value, path: string): void {
  for (const [name, child] of sortedChildren(node)) {
    const found = deepest(child, name);
    if (found === undefined || isPositional(name)) continue;
    const shown = `{${lastName(path)}: ${valueText(present)}}`;
    throw new CommandError(
      28,
      'PathNotViable',
      `Cannot use the part (${name}) of (${path}.${found}) to traverse the element (${shown})`,
    );
  }
}

/** The path below a node to the first operator that needs it to lead somewhere. */
function deepest({ modification, children }: UpdateNode, path: string): string | undefined {
  if (modification !== undefined)
    return removingOperators.has(modification.operator) && modification.operator !== '$unset' ? path : undefined;
  for (const [name, child] of children) {
    const found = deepest(child, `${path}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function joined(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function lastName(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

/**
 * The value that a rename takes from its path, through arrays too, which `refuseArrays` refuses. Undefined for a
 * missing one.
 * @throws CommandError 28 for a path through a value that has no fields
 */
function renamedValue(doc: Doc, path: string): Value | undefined {
  let value: Value | undefined = doc;
  const names = splitPath(path);
  for (const [at, name] of names.entries()) {
    const next: Value | undefined = inside(value, name);
    if (next === undefined && !isViable(value, name)) {
      const part = names[at - 1] ?? '';
      throw new CommandError(
        28,
        'PathNotViable',
        `cannot use the part (${part} of ${path}) to traverse the element ({${part}: ${valueText(value)}})`,
      );
    }
    if (next === undefined) return undefined;
    value = next;
  }
  return value;
}

function inside(value: Value, name: string): Value | undefined {
  if (value instanceof Map) return value.get(name);
  const index = arrayIndex(name);
  return Array.isArray(value) && index !== undefined ? value[index] : undefined;
}

function isViable(value: Value, name: string): boolean {
  return value instanceof Map || (Array.isArray(value) && arrayIndex(name) !== undefined);
}

/** `$rename` does not reach into arrays. @throws CommandError 2 */
function refuseArrays(before: Doc, path: string, role: 'source' | 'destination'): void {
  let value: Value | undefined = before;
  let innermost: string | undefined;
  let name = '';
  for (const next of splitPath(path)) {
    if (Array.isArray(value)) innermost = name;
    value = value === undefined ? undefined : inside(value, next);
    name = next;
  }
  if (innermost === undefined) return;
  const id = before.has('_id') ? `_id: ${valueText(before.get('_id') ?? null)}` : 'no id';
  throw badValue(
    `The ${role} field cannot be an array element, '${path}' in doc with ${id} has an array field called ` +
      `'${innermost}'`,
  );
}
