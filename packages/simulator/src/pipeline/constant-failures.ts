import type { Doc, Value } from '../bson/value.js';
import { isOperator, visitConstants } from '../expression/constant.js';
import { compileExpression } from '../expression/evaluate.js';
import { type ExpressionContext, makeVariables } from '../expression/variables.js';
import { CommandError } from '../node/command.js';
import { compilePipeline, isStage } from './stages.js';

/** Stages whose operand names fields with expressions. */
const computing: ReadonlySet<string> = new Set(['$project', '$addFields', '$set', '$replaceWith', '$group']);

/**
 * Computes the constant expressions of a pipeline, as servers do after parsing and before they read documents.
 * @throws CommandError prefixed by `Failed to optimize pipeline` for the first that fails
 */
export function refuseFailingConstants(stages: readonly Doc[], context: ExpressionContext): void {
  compilePipeline(stages.filter(isStage), context);
  for (const stage of stages)
    for (const [name, operand] of stage) if (computing.has(name)) visitFields(operand, context);
}

function visitFields(operand: Value, context: ExpressionContext): void {
  if (operand instanceof Map && !isOperator(operand)) for (const value of operand.values()) visitFields(value, context);
  else visitConstants(operand, (operator) => compute(operator, context));
}

function compute(expression: Value, context: ExpressionContext): void {
  const evaluate = compileExpression(expression, context);
  try {
    evaluate(makeVariables(new Map<string, Value>(), context));
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new CommandError(
      error.code,
      error.codeName,
      `Failed to optimize pipeline :: caused by :: ${error.message}`,
      error.labels,
      error.extra,
    );
  }
}
