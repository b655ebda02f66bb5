import type { Doc, Value } from '../bson/value.js';
import { MutableDocument } from '../expression/mutable-document.js';
import type { Evaluate } from '../expression/operator.js';
import type { Variables } from '../expression/variables.js';

/** What happens to one field. */
export type Leaf =
  | { kind: 'include' }
  | { kind: 'exclude' }
  | { kind: 'computed'; evaluate: Evaluate }
  /** Keeps a part of an array; undefined drops the field. Other values stay. */
  | { kind: 'list'; apply: (items: Value[]) => Value[] | undefined; /** What is no array disappears. */ lists?: true };

/** Fields of one level: each is treated itself, or looked into. */
export interface ProjectionNode {
  readonly children: Map<string, { leaf: Leaf } | { node: ProjectionNode }>;
}

export function makeProjectionNode(): ProjectionNode {
  return { children: new Map() };
}

/** Keeps the named fields in the document's order, then adds computed ones. */
export function includeFields(node: ProjectionNode, doc: Doc, variables: Variables): Doc {
  const kept = new MutableDocument();
  for (const [name, value] of doc) {
    const child = node.children.get(name);
    if (child === undefined) continue;
    const result = 'leaf' in child ? includedLeaf(child.leaf, value) : insideContainers(value, (inner) => includeFields(child.node, inner, variables));
    if (result !== undefined) kept.set(name, result);
  }
  addComputed(node, doc, kept, variables);
  return kept.frozen();
}

/** Drops the named fields and keeps the others. */
export function excludeFields(node: ProjectionNode, doc: Doc, variables: Variables): Doc {
  const kept = new MutableDocument(doc);
  for (const [name, value] of doc) {
    const child = node.children.get(name);
    if (child === undefined) continue;
    if ('node' in child) kept.set(name, insideAll(value, (inner) => excludeFields(child.node, inner, variables)));
    else kept.set(name, child.leaf.kind === 'exclude' ? undefined : includedLeaf(child.leaf, value));
  }
  return kept.frozen();
}

/** Sets computed fields at their places, as `$addFields` does. */
export function setFields(node: ProjectionNode, doc: Doc, variables: Variables): Doc {
  const result = new MutableDocument(doc);
  for (const [name, child] of node.children) {
    if ('node' in child) result.set(name, setInside(child.node, result.get(name), variables));
    else if (child.leaf.kind === 'computed') result.set(name, child.leaf.evaluate(variables));
  }
  return result.frozen();
}

function setInside(node: ProjectionNode, present: Value | undefined, variables: Variables): Value {
  if (Array.isArray(present)) return present.map((item) => setInside(node, item, variables));
  return setFields(node, present instanceof Map ? present : new Map<string, Value>(), variables);
}

function includedLeaf(leaf: Leaf, value: Value): Value | undefined {
  if (leaf.kind === 'computed' || leaf.kind === 'exclude') return undefined;
  if (leaf.kind !== 'list') return value;
  if (!Array.isArray(value)) return leaf.lists === true ? undefined : value;
  return leaf.apply(value);
}

function addComputed(node: ProjectionNode, doc: Doc, kept: MutableDocument, variables: Variables): void {
  for (const [name, child] of node.children) {
    if ('leaf' in child) {
      if (child.leaf.kind === 'computed') kept.set(name, child.leaf.evaluate(variables));
    } else if (!(doc.get(name) instanceof Map) && !Array.isArray(doc.get(name))) {
      const made = includeFields(child.node, new Map<string, Value>(), variables);
      if (made.size > 0) kept.set(name, made);
    }
  }
}

/** Applies to a document or the documents in an array; other values stay. */
function insideAll(value: Value, apply: (doc: Doc) => Doc): Value {
  if (value instanceof Map) return apply(value);
  return Array.isArray(value) ? value.map((item) => insideAll(item, apply)) : value;
}

/** Applies to a document or the documents in an array; other values give undefined and disappear from arrays. */
function insideContainers(value: Value, apply: (doc: Doc) => Doc): Value | undefined {
  if (value instanceof Map) return apply(value);
  if (!Array.isArray(value)) return undefined;
  return value.flatMap((item) => {
    const inner = insideContainers(item, apply);
    return inner === undefined ? [] : [inner];
  });
}
