import type { Doc, Value } from '../bson/value.js';
import { isNumber, toNumber } from '../bson/exact-number.js';
import { compileExpression } from '../expression/evaluate.js';
import { type ExpressionContext, makeVariables } from '../expression/variables.js';
import { isTrue } from './field-operators.js';
import { compileMatcher, compileValueMatcher, isOperatorDocument } from './matcher.js';
import { badValue, located } from './query-error.js';
import { excludeFields, includeFields, type Leaf, makeProjectionNode, type ProjectionNode } from './projection-tree.js';

interface Parsed {
  root: ProjectionNode;
  /** True for inclusion, false for exclusion, undefined while nothing has told. */
  including: boolean | undefined;
  id: boolean | undefined;
}

/**
 * Compiles the projection of a find or of `$project`.
 * @param filter the query, which the positional `field.$` needs
 * @throws CommandError 31253 or 31254 when fields are both included and excluded
 */
export function compileProjection(spec: Doc, filter?: Doc, context: ExpressionContext = {}): (doc: Doc) => Doc {
  const parsed: Parsed = { root: makeProjectionNode(), including: undefined, id: undefined };
  for (const [name, value] of spec) addField(parsed, parsed.root, name, value, name, filter, context);
  const including = parsed.including ?? parsed.id ?? false;
  if (parsed.id === true || (including && parsed.id === undefined)) {
    if (including) parsed.root.children.set('_id', { leaf: { kind: 'include' } });
  } else if (parsed.id === false && !including) {
    parsed.root.children.set('_id', { leaf: { kind: 'exclude' } });
  }
  return (doc) => {
    const variables = makeVariables(doc, context);
    return including ? includeFields(parsed.root, doc, variables) : excludeFields(parsed.root, doc, variables);
  };
}

function addField(parsed: Parsed, parent: ProjectionNode, path: string, value: Value, whole: string, filter: Doc | undefined, context: ExpressionContext): void {
  if (path === '') throw located(40352, 'FieldPath cannot be constructed with empty string');
  if (path.endsWith('.$')) {
    addPositional(parsed, path.slice(0, -2), filter);
    return;
  }
  if (value instanceof Map && !isOperatorDocument(value)) {
    if (value.size === 0) throw located(51270, 'An empty sub-projection is not a valid value. Found empty object at path');
    for (const [name, inner] of value) addField(parsed, parent, `${path}.${name}`, inner, `${whole}.${name}`, filter, context);
    return;
  }
  if (isNumber(value) || typeof value === 'boolean') addFlag(parsed, path, isTrue(value));
  else addComputed(parsed, path, value, context);
}

function addFlag(parsed: Parsed, path: string, include: boolean): void {
  if (path === '_id') {
    parsed.id = include;
    return;
  }
  setMode(parsed, include, path);
  setLeaf(parsed.root, path, { kind: include ? 'include' : 'exclude' });
}

function setMode(parsed: Parsed, including: boolean, path: string): void {
  if (parsed.including !== undefined && parsed.including !== including) {
    throw including
      ? located(31253, `Cannot do inclusion on field ${path} in exclusion projection`)
      : located(31254, `Cannot do exclusion on field ${path} in inclusion projection`);
  }
  parsed.including = including;
}

function addComputed(parsed: Parsed, path: string, value: Value, context: ExpressionContext): void {
  const slice = value instanceof Map ? value.get('$slice') : undefined;
  if (slice !== undefined && !(Array.isArray(slice) && slice.some((part) => !isNumber(part)))) {
    setLeaf(parsed.root, path, { kind: 'list', apply: sliceOf(slice) });
    return;
  }
  const elemMatch = value instanceof Map ? value.get('$elemMatch') : undefined;
  setMode(parsed, true, path);
  if (elemMatch instanceof Map) setLeaf(parsed.root, path, { kind: 'list', apply: firstMatch(elemMatch) });
  else setLeaf(parsed.root, path, { kind: 'computed', evaluate: compileExpression(value, context) });
}

function sliceOf(slice: Value): (items: Value[]) => Value[] {
  const [first, second] = (Array.isArray(slice) ? slice : [slice]).map((part) => (isNumber(part) ? toNumber(part) : 0));
  if (first === undefined) throw located(28667, 'Expression $slice takes at least 2 arguments, and at most 3, but 0 were passed in.');
  if (second === undefined) return (items) => (first >= 0 ? items.slice(0, first) : items.slice(first));
  if (second <= 0) throw located(28724, 'First argument to $slice must be an array');
  return (items) => {
    const start = first >= 0 ? first : Math.max(0, items.length + first);
    return items.slice(start, start + second);
  };
}

function firstMatch(condition: Doc): (items: Value[]) => Value[] | undefined {
  const test = elementTest(condition);
  return (items) => {
    const found = items.find(test);
    return found === undefined ? undefined : [found];
  };
}

function elementTest(condition: Doc): (item: Value) => boolean {
  if (isOperatorDocument(condition)) return compileValueMatcher(condition);
  const matches = compileMatcher(condition);
  return (item) => item instanceof Map && matches(item);
}

/** `field.$`: the first element of the array that the query's condition on it matches. */
function addPositional(parsed: Parsed, path: string, filter: Doc | undefined): void {
  setMode(parsed, true, path);
  const condition = filter?.get(path);
  const inner: Doc = new Map();
  for (const [name, operand] of filter ?? new Map<string, Value>()) if (name.startsWith(`${path}.`)) inner.set(name.slice(path.length + 1), operand);
  if (condition === undefined && inner.size === 0) throw badValue(`Executor error during find command :: caused by :: positional operator '.$' requires corresponding field in query specifier`);
  const apply = inner.size > 0 ? firstMatch(inner) : firstElement(condition ?? null);
  setLeaf(parsed.root, path, { kind: 'list', apply });
}

function firstElement(condition: Value): (items: Value[]) => Value[] | undefined {
  const elemMatch = condition instanceof Map ? condition.get('$elemMatch') : undefined;
  if (elemMatch instanceof Map) return firstMatch(elemMatch);
  return firstMatch(condition instanceof Map && isOperatorDocument(condition) ? condition : new Map([['$eq', condition]]));
}

function setLeaf(root: ProjectionNode, path: string, leaf: Leaf): void {
  const names = path.split('.');
  let node = root;
  for (const [index, name] of names.entries()) {
    const last = index === names.length - 1;
    const known = node.children.get(name);
    if (known !== undefined && (last || 'leaf' in known)) throw located(31249, `Path collision at ${path}`);
    if (last) {
      node.children.set(name, { leaf });
      return;
    }
    const next = known ?? { node: makeProjectionNode() };
    node.children.set(name, next);
    if ('node' in next) node = next.node;
  }
}
