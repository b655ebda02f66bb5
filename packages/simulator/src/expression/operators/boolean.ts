import { Int32 } from 'bson';
import { compareValues } from '../../bson/compare.js';
import { UndefinedValue, type Value } from '../../bson/value.js';
import { isConstant } from '../constant.js';
import { argumentList, fixed, type OperatorCompiler, type OperatorTable } from '../operator.js';
import { isTruthy } from '../truth.js';
import type { ExpressionContext } from '../variables.js';

/** `$and`, `$or`, `$not` and comparisons, which in expressions compare across types. */
export const booleanOperators: OperatorTable = {
  $and: connective((values) => values.every((value) => value())),
  $or: connective((values) => values.some((value) => value())),
  $not: fixed(1, ([value]) => !isTruthy(value)),
  $eq: comparison((order) => order === 0),
  $ne: comparison((order) => order !== 0),
  $gt: comparison((order) => order > 0),
  $gte: comparison((order) => order >= 0),
  $lt: comparison((order) => order < 0),
  $lte: comparison((order) => order <= 0),
  $cmp: fixed(2, ([a, b], _name, context) => new Int32(Math.sign(compareMissing(a, b, context)))),
};

/** Compares two results. A missing one ranks as undefined: after MinKey and before null. */
function compareMissing(a: Value | undefined, b: Value | undefined, context: ExpressionContext): number {
  return compareValues(a ?? orUndefined(a), b ?? orUndefined(b), context.collation);
}

function orUndefined(value: null | undefined): Value {
  return value === undefined ? UndefinedValue.instance : value;
}

function comparison(accepts: (order: number) => boolean): OperatorCompiler {
  return fixed(2, ([a, b], _name, context) => accepts(compareMissing(a, b, context)));
}

/**
 * Evaluates its arguments only as far as needed. Those without variables and fields come first, as they are known
 * before any document.
 */
function connective(combine: (values: (() => boolean)[]) => boolean): OperatorCompiler {
  return (operand, compile) => {
    const list = argumentList(operand);
    const evaluated = [...list.filter(isConstant), ...list.filter((each) => !isConstant(each))].map((each) =>
      compile(each),
    );
    return (variables) => combine(evaluated.map((evaluate) => () => isTruthy(evaluate(variables))));
  };
}
