import type { Value } from '../bson/value.js';
import { located } from '../query/query-error.js';
import { CommandError } from '../node/command.js';
import { hasName, namedIn } from '../node/language-names.js';
import type { ServerVersion } from '../node/server-version.js';
import { checkedPath, refuseFieldName } from './checked-path.js';
import { fieldPathValue } from './field-path.js';
import { MutableDocument } from './mutable-document.js';
import type { Compile, Evaluate, OperatorCompiler } from './operator.js';
import { arithmeticOperators } from './operators/arithmetic.js';
import { arrayOperators } from './operators/array.js';
import { conversionOperators } from './operators/conversion.js';
import { dateArithmeticOperators } from './operators/date-arithmetic.js';
import { dateTextOperators } from './operators/date-text.js';
import { dateOperators } from './operators/date.js';
import { documentOperators } from './operators/document.js';
import { iterationOperators } from './operators/iteration.js';
import { logicOperators } from './operators/logic.js';
import { textOperators } from './operators/text.js';
import { type ExpressionContext, refuseUndefined, variableValue } from './variables.js';

const operators = new Map<string, OperatorCompiler>(
  [
    arithmeticOperators,
    arrayOperators,
    conversionOperators,
    dateArithmeticOperators,
    dateOperators,
    dateTextOperators,
    documentOperators,
    iterationOperators,
    logicOperators,
    textOperators,
  ].flatMap((table) => Object.entries(table)),
);

/** Whether an operator of a release's expressions has a name. */
export function isExpressionName(name: string, version: ServerVersion | undefined): boolean {
  return name === '$literal' || name === '$const' || hasName(version, 'expression', name, operators.has(name));
}

/**
 * Compiles an aggregation expression.
 * @throws CommandError with the server's code for what it would refuse
 */
export function compileExpression(expression: Value, context: ExpressionContext = {}): Evaluate {
  const compile: Compile = (inner, names) =>
    compileExpression(
      inner,
      names === undefined ? context : { ...context, bound: new Set([...(context.bound ?? []), ...names]) },
    );
  if (typeof expression === 'string') return compileText(expression, context);
  if (Array.isArray(expression)) {
    const items = expression.map((each) => compile(each));
    return (variables) => items.map((item) => item(variables) ?? null);
  }
  if (!(expression instanceof Map)) return () => expression;
  const [first] = expression.keys();
  if (first?.startsWith('$') === true) {
    if (expression.size > 1)
      throw located(15983, `An object representing an expression must have exactly one field: ${first}`);
    return compileOperator(first, expression.get(first) ?? null, compile, context);
  }
  return compileDocument(expression, compile);
}

function compileOperator(name: string, operand: Value, compile: Compile, context: ExpressionContext): Evaluate {
  if (name === '$literal' || name === '$const') return () => operand;
  const operator = namedIn(context.version, 'expression', name, operators.get(name));
  if (operator === undefined)
    throw new CommandError(168, 'InvalidPipelineOperator', `Unrecognized expression '${name}'`);
  return operator(operand, compile, name, context);
}

function compileText(text: string, context: ExpressionContext): Evaluate {
  if (!text.startsWith('$')) return () => text;
  if (text === '$') throw located(16872, "'$' by itself is not a valid FieldPath");
  if (!text.startsWith('$$')) {
    const path = checkedPath(text.slice(1));
    return (variables) => fieldPathValue(variables.doc, path);
  }
  const [name = '', ...path] = checkedPath(text.slice(2));
  refuseUndefined(name, context);
  return (variables) => fieldPathValue(variableValue(variables, name), path);
}

function compileDocument(expression: ReadonlyMap<string, Value>, compile: Compile): Evaluate {
  const fields = [...expression].map(([name, value]) => {
    refuseFieldName(name);
    return [name, compile(value)] as const;
  });
  return (variables) => {
    const doc = new MutableDocument();
    for (const [name, evaluate] of fields) doc.set(name, evaluate(variables));
    return doc.frozen();
  };
}
