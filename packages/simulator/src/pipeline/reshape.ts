import { typeName } from '../bson/type-of.js';
import type { Doc, Value } from '../bson/value.js';
import { compileExpression } from '../expression/evaluate.js';
import { makeVariables } from '../expression/variables.js';
import { compileProjection } from '../query/projection.js';
import { makeProjectionNode, type ProjectionNode, setFields } from '../query/projection-tree.js';
import { located } from '../query/query-error.js';
import { isOperatorDocument } from '../query/matcher.js';
import { Int32 } from 'bson';
import { expressionContext, type PipelineContext, type RunStage } from './stage.js';

/** `$project`. */
export function compileProject(operand: Value, context: PipelineContext): RunStage {
  if (!(operand instanceof Map)) throw located(15969, '$project specification must be an object');
  if (operand.size === 0) throw located(51272, 'Invalid $project :: caused by :: projection specification must have at least one field');
  return mapped(compileProjection(operand, undefined, expressionContext(context)));
}

/** `$unset`: one name or a list. */
export function compileUnset(operand: Value): RunStage {
  const names = Array.isArray(operand) ? operand : [operand];
  if (names.length === 0 || names.some((name) => typeof name !== 'string')) throw located(31002, '$unset specification must be a string or an array');
  return mapped(compileProjection(new Map(names.map((name) => [name as string, new Int32(0)]))));
}

/** `$addFields` and `$set`. */
export function compileAddFields(operand: Value, context: PipelineContext): RunStage {
  if (!(operand instanceof Map)) throw located(40272, '$addFields specification stage must be an object, got ' + typeName(operand));
  const expressions = expressionContext(context);
  const root = makeProjectionNode();
  for (const [path, value] of operand) addComputed(root, path, value, (expression) => compileExpression(expression, expressions));
  return mapped((doc) => setFields(root, doc, makeVariables(doc, expressions)));
}

/** `$replaceWith`, and `$replaceRoot` without its wrapper. */
export function compileReplaceRoot(operand: Value, context: PipelineContext): RunStage {
  const expressions = expressionContext(context);
  const evaluate = compileExpression(operand, expressions);
  return mapped((doc) => {
    const root = evaluate(makeVariables(doc, expressions));
    if (root instanceof Map) return root;
    throw located(40228, `'newRoot' expression must evaluate to an object, but resulting value was: ${root === undefined ? 'MISSING' : typeName(root)}. Type of resulting value: '${typeName(root)}'.`);
  });
}

function addComputed(root: ProjectionNode, path: string, value: Value, compile: (value: Value) => ReturnType<typeof compileExpression>): void {
  if (value instanceof Map && !isOperatorDocument(value) && value.size > 0) {
    for (const [name, inner] of value) addComputed(root, `${path}.${name}`, inner, compile);
    return;
  }
  const names = path.split('.');
  if (names.includes('')) throw located(40352, 'FieldPath cannot be constructed with empty string');
  if (names.some((name) => name.startsWith('$'))) throw located(16410, "FieldPath field names may not start with '$'. Consider using $getField or $setField.");
  let node = root;
  for (const name of names.slice(0, -1)) {
    const known = node.children.get(name) ?? { node: makeProjectionNode() };
    if (!('node' in known)) throw located(40176, `Invalid $addFields :: caused by :: specification contains two conflicting paths: ${path}`);
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
