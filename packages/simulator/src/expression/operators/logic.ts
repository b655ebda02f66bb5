import { Int32 } from 'bson';
import { compareValues } from '../../bson/compare.js';
import { UndefinedValue, type Value } from '../../bson/value.js';
import { unsimulated } from '../../node/unsimulated.js';
import { located } from '../../query/query-error.js';
import { isConstant } from '../constant.js';
import { argumentList, fixed, type OperatorCompiler, type OperatorTable, type Evaluate } from '../operator.js';
import { isTruthy, isNullish } from '../truth.js';
import type { ExpressionContext } from '../variables.js';

/** `$and`, `$or`, `$not`, conditions, and comparisons, which in expressions compare across types. */
export const logicOperators: OperatorTable = {
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
  $cond: compileCond,
  $ifNull: compileIfNull,
  $switch: compileSwitch,
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

function compileCond(operand: Value, compile: (value: Value) => Evaluate): Evaluate {
  if (operand instanceof Map) throw unsimulated('$cond of named arguments');
  const list = argumentList(operand);
  if (list.length !== 3)
    throw located(16020, `Expression $cond takes exactly 3 arguments. ${list.length} were passed in.`);
  const [test, then, otherwise] = list.map((part) => compile(part)) as [Evaluate, Evaluate, Evaluate];
  return (variables) => (isTruthy(test(variables)) ? then(variables) : otherwise(variables));
}

function compileIfNull(operand: Value, compile: (value: Value) => Evaluate): Evaluate {
  const list = argumentList(operand);
  if (list.length < 2) throw located(1257300, `$ifNull needs at least two arguments, had: ${list.length}`);
  const evaluated = list.map((each) => compile(each));
  return (variables) => {
    let value: Value | undefined;
    for (const evaluate of evaluated) {
      value = evaluate(variables);
      if (!isNullish(value)) return value;
    }
    return value;
  };
}

function compileSwitch(operand: Value, compile: (value: Value) => Evaluate): Evaluate {
  if (!(operand instanceof Map)) throw located(40060, '$switch requires an object as an argument, found: a value');
  const branches = operand.get('branches');
  if (!Array.isArray(branches)) throw located(40061, "$switch expected an array for 'branches'");
  if (branches.length === 0) throw located(40068, '$switch requires at least one branch.');
  const compiled = branches.map((branch) => compileBranch(branch, compile));
  const fallback = operand.get('default');
  const otherwise = fallback === undefined ? undefined : compile(fallback);
  return (variables) => {
    const branch = compiled.find(({ test }) => isTruthy(test(variables)));
    if (branch !== undefined) return branch.then(variables);
    if (otherwise === undefined)
      throw located(40066, '$switch could not find a matching branch for an input, and no default was specified.');
    return otherwise(variables);
  };
}

function compileBranch(branch: Value, compile: (value: Value) => Evaluate): { test: Evaluate; then: Evaluate } {
  if (!(branch instanceof Map)) throw located(40062, '$switch expected each branch to be an object');
  const test = branch.get('case');
  const then = branch.get('then');
  if (test === undefined) throw located(40064, "$switch requires each branch have a 'case' expression");
  if (then === undefined) throw located(40065, "$switch requires each branch have a 'then' expression.");
  return { test: compile(test), then: compile(then) };
}
