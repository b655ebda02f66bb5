import { computedText } from '../bson/computed-text.js';
import { documentText } from '../bson/text.js';
import { typeName } from '../bson/type-of.js';
import type { Doc, Value } from '../bson/value.js';
import { checkedPath } from '../expression/checked-path.js';
import { compileExpression } from '../expression/evaluate.js';
import { makeVariables } from '../expression/variables.js';
import { CommandError } from '../node/command.js';
import { isUnsimulated } from '../node/unsimulated.js';
import { compileExclusion, compileStageProjection } from '../query/projection.js';
import { makeProjectionNode, type ProjectionNode, setFields } from '../query/projection-tree.js';
import { located } from '../query/query-error.js';
import { expressionContext, type PipelineContext, type RunStage } from './stage.js';

/** `$project`. */
export function compileProject(operand: Value, context: PipelineContext): RunStage {
  if (!(operand instanceof Map)) throw located(15969, '$project specification must be an object');
  return named('$project', () => {
    if (operand.size === 0) throw located(51272, 'projection specification must have at least one field');
    return mapped(compileStageProjection(operand, expressionContext(context)));
  });
}

/** `$unset`: one name or a list. */
export function compileUnset(operand: Value, context: PipelineContext): RunStage {
  if (typeof operand !== 'string' && !Array.isArray(operand))
    throw located(31002, '$unset specification must be a string or an array');
  const names = Array.isArray(operand) ? operand : [operand];
  if (names.length === 0)
    throw located(31119, '$unset specification must be a string or an array with at least one field');
  if (names.some((name) => typeof name !== 'string'))
    throw located(31120, '$unset specification must be a string or an array containing only string values');
  return named('$unset', () => mapped(compileExclusion(names as string[], expressionContext(context))));
}

/** `$addFields` and `$set`. */
export function compileAddFields(operand: Value, context: PipelineContext, name: '$addFields' | '$set'): RunStage {
  if (!(operand instanceof Map))
    throw located(40272, `${name} specification stage must be an object, got ${typeName(operand)}`);
  const expressions = expressionContext(context);
  const root = makeProjectionNode();
  named(name, () => {
    refuseConflicts(operand);
    for (const [path, value] of operand)
      addComputed(root, path, value, (expression) => compileExpression(expression, expressions));
  });
  return mapped((doc) => setFields(root, doc, makeVariables(doc, expressions)));
}

/** The name of the stage prefixes its refusals. */
function named<T>(stage: string, compile: () => T): T {
  try {
    return compile();
  } catch (error) {
    if (!(error instanceof CommandError) || isUnsimulated(error)) throw error;
    throw new CommandError(
      error.code,
      error.codeName,
      `Invalid ${stage} :: caused by :: ${error.message}`,
      error.labels,
      error.extra,
    );
  }
}

/** `$replaceWith`, and `$replaceRoot` without its wrapper. @param role what the operand is, for messages */
export function compileReplaceRoot(operand: Value, context: PipelineContext, role: string): RunStage {
  const expressions = expressionContext(context);
  const evaluate = compileExpression(operand, expressions);
  return mapped((doc) => {
    const root = evaluate(makeVariables(doc, expressions));
    if (root instanceof Map) return root;
    throw located(
      40228,
      `${role} must evaluate to an object, but resulting value was: ${computedText(root)}. Type of resulting ` +
        `value: '${typeName(root)}'. Input document: ${computedText(doc)}`,
    );
  });
}

/** Refuses overlapping paths and empty objects, before any expression is read. */
function refuseConflicts(spec: Doc): void {
  const seen = new Set<string>();
  const add = (path: string): void => {
    const other = seen.has(path)
      ? path
      : [...seen].sort().find((known) => known.startsWith(`${path}.`) || path.startsWith(`${known}.`));
    if (other !== undefined)
      throw located(
        40176,
        `specification contains two conflicting paths. Cannot specify both '${path}' and '${other}': ` +
          documentText(spec),
      );
    seen.add(path);
  };
  const visit = (path: string, value: Value): void => {
    if (!(value instanceof Map)) {
      add(path);
      return;
    }
    if (value.size === 0)
      throw located(40180, `an empty object is not a valid value. Found empty object at path ${path}`);
    for (const [name, inner] of value) {
      if (name.startsWith('$')) {
        if (value.size !== 1)
          throw located(
            40181,
            'an expression specification must contain exactly one field, the name of the expression. Found ' +
              `${value.size} fields in ${documentText(value)}, while parsing object ${documentText(spec)}`,
          );
        add(path);
      } else if (name.includes('.'))
        throw located(40183, `cannot use dotted field name '${name}' in a sub object: ${documentText(spec)}`);
      else visit(`${path}.${name}`, inner);
    }
  };
  for (const [path, value] of spec) visit(checkedPath(path).join('.'), value);
}

function addComputed(
  root: ProjectionNode,
  path: string,
  value: Value,
  compile: (value: Value) => ReturnType<typeof compileExpression>,
): void {
  if (value instanceof Map && [...value.keys()][0]?.startsWith('$') !== true) {
    for (const [name, inner] of value) addComputed(root, `${path}.${name}`, inner, compile);
    return;
  }
  const names = checkedPath(path);
  let node = root;
  for (const name of names.slice(0, -1)) {
    const known = node.children.get(name) ?? { node: makeProjectionNode() };
    if (!('node' in known)) throw new Error(`${path} lies in another path.`);
    node.children.set(name, known);
    node = known.node;
  }
  node.children.set(names.at(-1) ?? '', { leaf: { kind: 'computed', evaluate: compile(value) } });
}

function mapped(apply: (doc: Doc) => Doc): RunStage {
  return function* (docs) {
    for (const doc of docs) yield apply(doc);
  };
}
