import type { Doc, Value } from '../bson/value.js';
import { isNumber, toNumber } from '../bson/exact-number.js';
import { documentText, valueText } from '../bson/text.js';
import { typeName } from '../bson/type-of.js';
import { checkedPath } from '../expression/checked-path.js';
import { compileExpression, isExpressionName } from '../expression/evaluate.js';
import { type ExpressionContext, makeVariables } from '../expression/variables.js';
import { CommandError } from '../node/command.js';
import { unsimulated } from '../node/unsimulated.js';
import { countsAsTrue } from './field-operators.js';
import { compileElementMatcher, compileMatcher } from './matcher.js';
import { isElementCondition } from './operator-document.js';
import { located } from './query-error.js';
import { excludeFields, includeFields, type Leaf, makeProjectionNode, type ProjectionNode } from './projection-tree.js';

/** What a projection may use besides its own specification. */
interface ProjectionOptions {
  /** True for a find, which has its own `$slice` and `$elemMatch`. False for a stage. */
  readonly ofFind: boolean;
  readonly context?: ExpressionContext;
}

type Mode = 'inclusion' | 'exclusion';

/**
 * Compiles the projection of a find.
 * @throws CommandError 31253 or 31254 when fields are both included and excluded, and for all else that the server
 * refuses
 */
export function compileProjection(spec: Doc, context: ExpressionContext = {}): (doc: Doc) => Doc {
  return projecting(spec, { ofFind: true, context });
}

/** As `compileProjection`, for a stage: only expressions compute. */
export function compileStageProjection(spec: Doc, context: ExpressionContext = {}): (doc: Doc) => Doc {
  return projecting(spec, { ofFind: false, context });
}

/** As `compileStageProjection`, taking fields out. */
export function compileExclusion(names: readonly string[], context: ExpressionContext = {}): (doc: Doc) => Doc {
  const root = makeProjectionNode();
  for (const name of names) addLeaf(root, name, { kind: 'exclude' });
  return (doc) => excludeFields(root, doc, makeVariables(doc, context));
}

function projecting(spec: Doc, options: ProjectionOptions): (doc: Doc) => Doc {
  const parser = new ProjectionParser(options);
  const { root, mode } = parser.parse(spec);
  const { context = {} } = options;
  return (doc) => {
    const variables = makeVariables(doc, context);
    return mode === 'inclusion' ? includeFields(root, doc, variables) : excludeFields(root, doc, variables);
  };
}

/** Reads a projection field by field. */
class ProjectionParser {
  readonly #root = makeProjectionNode();
  #mode: Mode | undefined;
  #id: boolean | undefined;
  #hasSlice = false;
  #hasElemMatch = false;

  constructor(private readonly options: ProjectionOptions) {}

  parse(spec: Doc): { root: ProjectionNode; mode: Mode } {
    for (const [name, value] of spec) this.#field(this.#root, name, value);
    const mode = this.#mode ?? this.#modeByDefault();
    const namesId = [...spec.keys()].some((name) => name === '_id' || name.startsWith('_id.'));
    if (!namesId && mode === 'inclusion') addLeaf(this.#root, '_id', { kind: 'include' });
    if (mode === 'exclusion' && this.#id === true) this.#root.children.delete('_id');
    return { root: this.#root, mode };
  }

  /** The kind of a projection without plain fields. */
  #modeByDefault(): Mode {
    if (!this.#hasSlice && this.#hasElemMatch) return 'inclusion';
    return this.#id === true ? 'inclusion' : 'exclusion';
  }

  #field(parent: ProjectionNode, name: string, value: Value): void {
    if (name.endsWith('.$')) throw unsimulated('a positional projection');
    if (value instanceof Map) this.#inner(parent, name, value);
    else if (isNumber(value) || typeof value === 'boolean') this.#flag(parent, name, countsAsTrue(value));
    else this.#literal(parent, name, value);
  }

  #flag(parent: ProjectionNode, name: string, include: boolean): void {
    addLeaf(parent, name, { kind: include ? 'include' : 'exclude' });
    if (name === '_id' && parent === this.#root) this.#id = include;
    else this.#become(include ? 'inclusion' : 'exclusion', name);
  }

  #become(mode: Mode, name: string): void {
    if (this.#mode !== undefined && this.#mode !== mode) {
      throw mode === 'inclusion'
        ? located(31253, `Cannot do inclusion on field ${name} in exclusion projection`)
        : located(31254, `Cannot do exclusion on field ${name} in inclusion projection`);
    }
    this.#mode = mode;
  }

  #literal(parent: ProjectionNode, name: string, value: Value): void {
    addLeaf(parent, name, { kind: 'computed', evaluate: compileExpression(value, this.options.context) });
    if (this.#mode === 'exclusion')
      throw located(31310, `Cannot use an expression ${name}: ${valueText(value)} in an exclusion projection`);
    this.#mode = 'inclusion';
  }

  #inner(parent: ProjectionNode, name: string, spec: Doc): void {
    const [[first, operand] = ['', null]] = spec;
    if (spec.size === 0)
      throw located(51270, 'An empty sub-projection is not a valid value. Found empty object at path');
    checkedPath(name);
    if (spec.size === 1 && first.startsWith('$')) {
      if (this.#computed(parent, name, first, operand, spec)) return;
      throw located(31325, `Unknown expression ${first}`);
    }
    const node = innerNode(parent, name);
    for (const [field, value] of spec) this.#field(node, field, value);
  }

  /** @returns false where the object is no expression */
  #computed(parent: ProjectionNode, name: string, operator: string, operand: Value, spec: Doc): boolean {
    if (this.options.ofFind && operator === '$slice') {
      this.#slice(parent, name, operand, spec);
      return true;
    }
    if (this.options.ofFind && operator === '$elemMatch') {
      this.#elemMatch(parent, name, operand);
      return true;
    }
    if (operator === '$elemMatch')
      throw new CommandError(168, 'InvalidPipelineOperator', 'Cannot use $elemMatch in this context');
    if (!isExpressionName(operator, this.options.context?.version)) return false;
    this.#expression(parent, name, spec);
    return true;
  }

  #expression(parent: ProjectionNode, name: string, spec: Doc): void {
    if (this.#mode === 'exclusion')
      throw located(31252, 'Cannot use expression other than $meta in exclusion projection');
    this.#mode = 'inclusion';
    addLeaf(parent, name, { kind: 'computed', evaluate: compileExpression(spec, this.options.context) });
  }

  /** A `$slice` that is no slice of a find may be an expression. */
  #slice(parent: ProjectionNode, name: string, operand: Value, spec: Doc): void {
    try {
      addLeaf(parent, name, { kind: 'list', apply: findSlice(operand) });
      this.#hasSlice = true;
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      this.#sliceExpression(parent, name, spec, error);
    }
  }

  /** @param why it is no slice of a find */
  #sliceExpression(parent: ProjectionNode, name: string, spec: Doc, why: CommandError): void {
    try {
      this.#expression(parent, name, spec);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      const reason =
        `Invalid $slice syntax. The given syntax ${documentText(spec)} did not match the find() syntax because ` +
        `:: ${why.codeName}: ${why.message} :: The given syntax did not match the expression $slice syntax.`;
      throw new CommandError(error.code, error.codeName, `${reason} :: caused by :: ${error.message}`);
    }
  }

  #elemMatch(parent: ProjectionNode, name: string, operand: Value): void {
    if (!(operand instanceof Map))
      throw located(31274, `elemMatch: Invalid argument, object required, but got ${typeName(operand)}`);
    if (name.includes('.') || parent !== this.#root)
      throw located(31275, 'Cannot use $elemMatch projection on a nested field.');
    addLeaf(parent, name, { kind: 'match', apply: firstMatch(operand) });
    this.#hasElemMatch = true;
  }
}

/** The `$slice` of a find. @throws CommandError for an invalid operand */
function findSlice(operand: Value): (items: Value[]) => Value[] {
  if (isNumber(operand)) {
    const count = toNumber(operand);
    return (items) => (count >= 0 ? items.slice(0, count) : items.slice(count));
  }
  if (!Array.isArray(operand)) throw located(31273, '$slice only supports numbers and [skip, limit] arrays');
  const [skip, limit] = operand;
  if (operand.length !== 2) throw located(31272, '$slice array argument should be of form [skip, limit]');
  if (skip === undefined || !isNumber(skip))
    throw located(31257, `$slice expects the skip argument to be a number, got ${typeName(skip)}`);
  if (limit === undefined || !isNumber(limit))
    throw located(31258, `$slice expects the limit argument to be a number, got ${typeName(limit)}`);
  const [from, count] = [toNumber(skip), toNumber(limit)];
  if (count <= 0) throw located(31259, `$slice limit must be positive, got ${count}`);
  return (items) => {
    const start = from >= 0 ? from : Math.max(0, items.length + from);
    return items.slice(start, start + count);
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
  if (isElementCondition(condition)) return compileElementMatcher(condition);
  const matches = compileMatcher(condition);
  return (item) =>
    (item instanceof Map && matches(item)) ||
    (Array.isArray(item) && matches(new Map(item.map((each, index) => [String(index), each]))));
}

function addLeaf(parent: ProjectionNode, path: string, leaf: Leaf): void {
  const names = checkedPath(path);
  const node = nodeOf(parent, names.slice(0, -1), names);
  const last = names.at(-1) ?? '';
  if (node.children.has(last)) throw located(31250, `Path collision at ${path}`);
  node.children.set(last, { leaf });
}

/** The node of the fields within a path. @throws CommandError 31249 or 31250 for a path that is in use already */
function innerNode(parent: ProjectionNode, path: string): ProjectionNode {
  const names = checkedPath(path);
  const node = nodeOf(parent, names.slice(0, -1), names);
  const last = names.at(-1) ?? '';
  const known = node.children.get(last);
  if (known !== undefined && 'leaf' in known) throw located(31250, `Path collision at ${path}`);
  if (known !== undefined) return known.node;
  const made = makeProjectionNode();
  node.children.set(last, { node: made });
  return made;
}

function nodeOf(parent: ProjectionNode, names: readonly string[], whole: readonly string[]): ProjectionNode {
  let node = parent;
  for (const name of names) {
    const known = node.children.get(name) ?? { node: makeProjectionNode() };
    if ('leaf' in known)
      throw located(31249, `Path collision at ${whole.join('.')} remaining portion ${whole.slice(1).join('.')}`);
    node.children.set(name, known);
    node = known.node;
  }
  return node;
}
