import type { Doc, Value } from '../bson/value.js';
import { valueText } from '../bson/text.js';
import { arrayIndex } from '../query/document-path.js';
import { badValue } from '../query/query-error.js';
import { arrayOperators } from './array-operators.js';
import type { LeafOperator } from './leaf-operator.js';
import { numberOperators } from './number-operators.js';
import { isPositional, PositionalPaths } from './positional.js';
import { pathNotViable } from './update-error.js';
import type { UpdateOptions } from './update-options.js';
import { type Modification, sortedChildren, type UpdateNode, updateTree } from './update-tree.js';

/** The server's limit for filling an array up with nulls. */
const PADDING_ELEMENTS_MAX = 1_500_000;

const leafOperators = new Map<string, LeafOperator>([
  ...Object.entries(numberOperators),
  ...Object.entries(arrayOperators),
  ['$set', ({ operand }) => operand],
  ['$setOnInsert', ({ operand }) => operand],
  ['$unset', () => undefined],
]);

/** Operators that do nothing where their path leads nowhere. */
const removingOperators = new Set(['$unset', '$pop', '$pull', '$pullAll']);

/**
 * Applies update operators.
 * @returns a new document that shares what did not change
 */
export function applyOperators(before: Doc, update: Doc, options: UpdateOptions): Doc {
  const tree = updateTree(update, before);
  const applier = new Applier(before, options);
  applier.refuseUnusedFilters(update);
  return applier.document(tree, before, '');
}

class Applier {
  readonly #positions: PositionalPaths;

  constructor(
    private readonly before: Doc,
    private readonly options: UpdateOptions,
  ) {
    this.#positions = new PositionalPaths(before, options);
  }

  refuseUnusedFilters(update: Doc): void {
    this.#positions.refuseUnused(update);
  }

  document(node: UpdateNode, doc: Doc, path: string): Doc {
    const after = new Map(doc);
    for (const [name, child] of sortedChildren(node)) {
      if (isPositional(name)) throw badValue(`Cannot apply array updates to non-array element ${lastName(path)}: ${valueText(doc)}`);
      const value = this.#child(child, after.get(name), joined(path, name));
      if (value === undefined) after.delete(name);
      else after.set(name, value);
    }
    return after;
  }

  #array(node: UpdateNode, items: Value[], path: string): Value[] {
    const after = [...items];
    for (const [name, child] of sortedChildren(node)) {
      const indexes = isPositional(name) ? this.#positions.indexes(name, items, path) : [this.#index(name, items, path)];
      for (const index of indexes) this.#element(child, after, index, joined(path, String(index)));
    }
    return after;
  }

  #index(name: string, items: Value[], path: string): number {
    const index = arrayIndex(name);
    if (index === undefined) throw pathNotViable(name, lastName(path), items);
    return index;
  }

  /** An element that is removed leaves null behind. */
  #element(node: UpdateNode, items: Value[], index: number, path: string): void {
    const present = items[index];
    const value = this.#child(node, present, path);
    if (value === undefined && present === undefined) return;
    if (index - items.length > PADDING_ELEMENTS_MAX) throw badValue(`Attempting to set index ${index} of an array of ${items.length} elements would pad too much`);
    while (items.length < index) items.push(null);
    items[index] = value ?? null;
  }

  #child(node: UpdateNode, present: Value | undefined, path: string): Value | undefined {
    if (node.modification !== undefined) return this.#leaf(node.modification, present, lastName(path));
    if (present instanceof Map) return this.document(node, present, path);
    if (Array.isArray(present)) return this.#array(node, present, path);
    if (!createsFields(node, this.options.inserting === true)) return present;
    if (present === undefined) {
      if ([...node.children.keys()].some(isPositional)) throw badValue(`The path '${path}' must exist in the document in order to apply array updates.`);
      return this.document(node, new Map(), path);
    }
    const [[name, child] = ['', node]] = sortedChildren(node);
    if (isPositional(name)) throw badValue(`Cannot apply array updates to non-array element ${lastName(path)}: ${valueText(present)}`);
    throw pathNotViable(child === node ? '' : name, lastName(path), present);
  }

  #leaf({ operator, operand }: Modification, present: Value | undefined, name: string): Value | undefined {
    if (operator === '$setOnInsert' && this.options.inserting !== true) return present;
    const apply = leafOperators.get(operator);
    return apply?.({ present, operand, name, id: this.before.get('_id'), options: this.options });
  }
}

/** Whether something below would make a field where there is none. */
function createsFields(node: UpdateNode, inserting: boolean): boolean {
  const { modification } = node;
  if (modification !== undefined) return !removingOperators.has(modification.operator) && (modification.operator !== '$setOnInsert' || inserting);
  return [...node.children.values()].some((child) => createsFields(child, inserting));
}

function joined(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function lastName(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}
