import type { Value } from '../../bson/value.js';
import { unsimulated } from '../../node/unsimulated.js';
import { located } from '../../query/query-error.js';
import { argumentList, type Evaluate, type OperatorTable } from '../operator.js';
import { isNullish, isTruthy } from '../truth.js';

/** `$cond`, `$ifNull` and `$switch`. */
export const conditionalOperators: OperatorTable = {
  $cond: compileCond,
  $ifNull: compileIfNull,
  $switch: compileSwitch,
};

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
