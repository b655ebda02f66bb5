import type { Doc, Value } from '../bson/value.js';
import { compileExpression } from '../expression/evaluate.js';
import { type ExpressionContext, makeVariables } from '../expression/variables.js';
import { CommandError } from '../node/command.js';

/** Operators that servers do not compute before there is a document, even where all that they are given is constant. */
const neverFolded: ReadonlySet<string> = new Set([
  '$map', '$filter', '$reduce', '$let', '$zip', '$switch', '$getField', '$setField', '$unsetField', '$rand', '$meta', '$function', '$accumulator',
]);

/** Stages whose operand names fields with expressions. */
const computing: ReadonlySet<string> = new Set(['$project', '$addFields', '$set', '$replaceWith', '$group']);

/**
 * Computes the constant expressions of a pipeline, as servers do before they look at documents.
 * @throws CommandError behind `Failed to optimize pipeline` for the first that fails
 */
export function refuseFailingConstants(stages: readonly Doc[], context: ExpressionContext): void {
  for (const stage of stages) for (const [name, operand] of stage) if (computing.has(name)) visitFields(operand, context);
}

function visitFields(operand: Value, context: ExpressionContext): void {
  if (operand instanceof Map && !isOperator(operand)) for (const value of operand.values()) visitFields(value, context);
  else fold(operand, context);
}

/** @returns whether the expression is constant */
function fold(expression: Value, context: ExpressionContext): boolean {
  if (typeof expression === 'string') return !expression.startsWith('$');
  if (Array.isArray(expression)) return all(expression, context);
  if (!(expression instanceof Map)) return true;
  if (!isOperator(expression)) return all([...expression.values()], context);
  const [[name, operand] = ['', null]] = expression;
  if (name === '$literal' || name === '$const') return true;
  const operands = operand instanceof Map && !isOperator(operand) ? [...operand.values()] : Array.isArray(operand) ? operand : [operand];
  if (!all(operands, context) || neverFolded.has(name)) return false;
  compute(expression, context);
  return true;
}

function all(expressions: readonly Value[], context: ExpressionContext): boolean {
  return expressions.map((each) => fold(each, context)).every(Boolean);
}

function compute(expression: Value, context: ExpressionContext): void {
  const evaluate = compileExpression(expression, context);
  try {
    evaluate(makeVariables(new Map<string, Value>(), context));
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new CommandError(error.code, error.codeName, `Failed to optimize pipeline :: caused by :: ${error.message}`, error.labels, error.extra);
  }
}

function isOperator(value: Doc): boolean {
  const [first] = value.keys();
  return first?.startsWith('$') === true;
}
