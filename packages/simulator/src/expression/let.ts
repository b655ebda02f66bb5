import type { Doc, Value } from '../bson/value.js';
import { located } from '../query/query-error.js';
import { compileExpression } from './evaluate.js';
import { type ExpressionContext, makeVariables, refuseVariableName } from './variables.js';

/**
 * A command's expressions with the values of its `let` in scope. They are computed once, each after those before it.
 * @throws CommandError 4890500 for an expression that reads a document, 9 for an invalid name of a variable
 */
export function withLet(definitions: Doc, context: ExpressionContext): ExpressionContext {
  const known = new Map(context.let);
  const within = { ...context, let: known };
  for (const [name, expression] of definitions) {
    refuseVariableName(name);
    const evaluate = compileExpression(expression, within);
    if (readsDocument(expression)) {
      throw located(
        4890500,
        'Command let Expression tried to access a field, but this is not allowed because Command let ' +
          'Expressions run before the query examines any documents.',
      );
    }
    known.set(name, evaluate(makeVariables(new Map<string, Value>(), within)));
  }
  return within;
}

function readsDocument(expression: Value): boolean {
  if (typeof expression === 'string') return /^\$(?:[^$]|\$(?:ROOT|CURRENT)\b)/.test(expression);
  if (Array.isArray(expression)) return expression.some(readsDocument);
  if (!(expression instanceof Map)) return false;
  return [...expression].some(([name, operand]) => {
    if (name === '$literal' || name === '$const') return false;
    return (name === '$getField' && !(operand instanceof Map && operand.has('input'))) || readsDocument(operand);
  });
}
