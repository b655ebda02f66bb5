import type { Doc, Value } from '../bson/value.js';
import { fieldPathValue } from '../expression/field-path.js';
import { isAsStored, MutableDocument, withoutPlaces } from '../expression/mutable-document.js';
import type { Evaluate } from '../expression/operator.js';
import type { Variables } from '../expression/variables.js';

/** The treatment of one field. */
export type Leaf =
  | { kind: 'include' }
  | { kind: 'exclude' }
  | { kind: 'computed'; evaluate: Evaluate }
  /** Keeps a part of an array. Undefined drops the field. Other values stay. */
  | { kind: 'list'; apply: (items: Value[]) => Value[] | undefined }
  /**
   * As `list`, at the top level: values other than arrays disappear. Among included fields it comes last, with the
   * computed ones.
   */
  | { kind: 'match'; apply: (items: Value[]) => Value[] | undefined };

/** Fields of one level: each is treated itself, or looked into. */
export interface ProjectionNode {
  readonly children: Map<string, { leaf: Leaf } | { node: ProjectionNode }>;
}

export function makeProjectionNode(): ProjectionNode {
  return { children: new Map() };
}

/** Keeps the named fields in the document's order, then sets computed ones. */
export function includeFields(node: ProjectionNode, doc: Doc, variables: Variables): Doc {
  const kept = namedFields(node, doc);
  return computes(node) ? setFields(node, kept, variables) : kept;
}

function namedFields(node: ProjectionNode, doc: Doc): Doc {
  const kept = new MutableDocument();
  for (const [name, value] of doc) {
    const child = node.children.get(name);
    if (child === undefined || ('leaf' in child && child.leaf.kind !== 'include' && child.leaf.kind !== 'list'))
      continue;
    const shown = 'leaf' in child ? includedLeaf(child.leaf, value) : insideContainers(child.node, value);
    // Where something inside is computed the field has a place even where nothing of it stays.
    if (shown !== undefined || ('node' in child && computes(child.node))) kept.set(name, shown);
  }
  return kept.frozen();
}

function isComputed({ kind }: Leaf): boolean {
  return kind === 'computed' || kind === 'match';
}

/** Whether a field is computed somewhere in a node. */
function computes({ children }: ProjectionNode): boolean {
  return [...children.values()].some((child) => ('leaf' in child ? isComputed(child.leaf) : computes(child.node)));
}

/**
 * Drops the named fields and keeps the others. Since 8.0 those of a document that nothing has changed before leave no
 * place (seen on 8.0.10; server source: `fastpath_projection_node.h`).
 */
export function excludeFields(node: ProjectionNode, doc: Doc, variables: Variables): Doc {
  const isFast = variables.context.version?.atLeast(8, 0) === true && isAsStored(doc);
  const kept = keptFields(node, doc, variables);
  return isFast ? withoutPlaces(kept) : kept;
}

function keptFields(node: ProjectionNode, doc: Doc, variables: Variables): Doc {
  const kept = new MutableDocument(doc);
  for (const [name, value] of doc) {
    const child = node.children.get(name);
    if (child === undefined) continue;
    if ('node' in child)
      kept.set(
        name,
        insideAll(value, (inner) => keptFields(child.node, inner, variables)),
      );
    else kept.set(name, child.leaf.kind === 'exclude' ? undefined : includedLeaf(child.leaf, value));
  }
  return kept.frozen();
}

/**
 * Sets computed fields at their places, as `$addFields` does. A path in which nothing is computed then has a place too.
 */
export function setFields(node: ProjectionNode, doc: Doc, variables: Variables): Doc {
  const result = new MutableDocument(doc);
  for (const [name, child] of node.children) {
    if ('node' in child) {
      const present = result.get(name);
      result.set(name, computes(child.node) ? setInside(child.node, present, variables) : present);
    } else if (child.leaf.kind === 'computed') result.set(name, child.leaf.evaluate(variables));
    else if (child.leaf.kind === 'match')
      result.set(name, includedLeaf(child.leaf, fieldPathValue(variables.doc, [name]) ?? null));
  }
  return result.frozen();
}

function setInside(node: ProjectionNode, present: Value | undefined, variables: Variables): Value {
  if (Array.isArray(present)) return present.map((item) => setInside(node, item, variables));
  return setFields(node, present instanceof Map ? present : new Map<string, Value>(), variables);
}

function includedLeaf(leaf: Leaf, value: Value): Value | undefined {
  if (leaf.kind === 'computed' || leaf.kind === 'exclude') return undefined;
  if (leaf.kind === 'include') return value;
  if (!Array.isArray(value)) return leaf.kind === 'match' ? undefined : value;
  return leaf.apply(value);
}

/** Applies to a document or the documents in an array; other values stay. */
function insideAll(value: Value, apply: (doc: Doc) => Doc): Value {
  if (value instanceof Map) return apply(value);
  return Array.isArray(value) ? value.map((item) => insideAll(item, apply)) : value;
}

/**
 * The named fields of a document or of the documents in an array. Other values disappear, unless computed fields
 * replace them.
 */
function insideContainers(node: ProjectionNode, value: Value): Value | undefined {
  if (value instanceof Map) return namedFields(node, value);
  if (!Array.isArray(value)) return undefined;
  return value.flatMap((item) => {
    const inner = insideContainers(node, item) ?? (computes(node) ? null : undefined);
    return inner === undefined ? [] : [inner];
  });
}
