import type { Doc, Value } from '../bson/value.js';
import { arrayIndex } from '../query/document-path.js';
import { isPlainAppend } from './array-operators.js';
import { assembleDiff, type Diff, sameBytes } from './diff.js';
import { isPositional } from './positional.js';
import { rewrites } from './rewrites.js';
import { sortedChildren, type UpdateNode, updateTree } from './update-tree.js';

/**
 * The difference as the server logs it for update operators: each changed path as the operators name it, in the order
 * of the paths. A plain `$push` as its appended elements.
 */
export function operatorDiff(before: Doc, after: Doc, operators: Doc): Diff {
  return documentDiff(updateTree(operators), before, after);
}

function documentDiff(node: UpdateNode, before: Doc, after: Doc): Diff {
  const removed: Doc = new Map();
  const updated: Doc = new Map();
  const inserted: Doc = new Map();
  const inner: Doc = new Map();
  for (const [name, child] of sortedChildren(node)) {
    const known = before.get(name);
    const value = after.get(name);
    if (value === undefined) {
      if (known !== undefined) removed.set(name, false);
    } else if (known === undefined) inserted.set(name, value);
    else if (!sameBytes(known, value) || changesWithin(child, known)) {
      const change = innerDiff(child, known, value);
      if (change === undefined) updated.set(name, value);
      else inner.set(`s${name}`, change);
    }
  }
  return assembleDiff(removed, updated, inserted, inner);
}

/** The change inside a value that operators reach into. Undefined when the whole value was written. */
function innerDiff(node: UpdateNode, before: Value, after: Value): Diff | undefined {
  const { modification } = node;
  if (modification !== undefined) {
    const appends = modification.operator === '$push' && isPlainAppend(modification.operand);
    return appends && Array.isArray(before) && Array.isArray(after) ? appendedDiff(before, after) : undefined;
  }
  if (before instanceof Map && after instanceof Map) return documentDiff(node, before, after);
  return Array.isArray(before) && Array.isArray(after) ? arrayDiff(node, before, after) : undefined;
}

function appendedDiff(before: readonly Value[], after: readonly Value[]): Diff {
  const diff: Diff = new Map([['a', true]]);
  for (let index = before.length; index < after.length; index += 1) diff.set(`u${index}`, after[index] ?? null);
  return diff;
}

function arrayDiff(node: UpdateNode, before: readonly Value[], after: readonly Value[]): Diff {
  const diff: Diff = new Map([['a', true]]);
  for (const [index, value] of after.entries()) {
    const child = childAt(node, index);
    const known = before[index];
    if (child === undefined || (known !== undefined && sameBytes(known, value) && !changesWithin(child, known)))
      continue;
    const change = known === undefined ? undefined : innerDiff(child, known, value);
    diff.set(change === undefined ? `u${index}` : `s${index}`, change ?? value);
  }
  return diff;
}

/** The operators for an element: those for its index and those for every or matching elements. */
function childAt(node: UpdateNode, index: number): UpdateNode | undefined {
  const found = [...node.children]
    .filter(([name]) => isPositional(name) || arrayIndex(name) === index)
    .map(([, child]) => child);
  const [first, ...others] = found;
  if (first === undefined || others.length === 0) return first;
  return { children: new Map(found.flatMap((child) => [...child.children])) };
}

/** Whether an operator below counts as a change although the bytes stayed the same. */
function changesWithin(node: UpdateNode, present: Value): boolean {
  if (node.modification !== undefined) return rewrites(node.modification, present);
  if (Array.isArray(present))
    return present.some((item, index) => changesWithin(childAt(node, index) ?? { children: new Map() }, item));
  if (!(present instanceof Map)) return false;
  return [...node.children].some(
    ([name, child]) => present.has(name) && changesWithin(child, present.get(name) ?? null),
  );
}
