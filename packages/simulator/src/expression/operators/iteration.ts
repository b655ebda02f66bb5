import { computedText } from '../../bson/computed-text.js';
import { typeName } from '../../bson/type-of.js';
import type { Value } from '../../bson/value.js';
import { located } from '../../query/query-error.js';
import { type Compile, type Evaluate, namedArguments, type OperatorTable } from '../operator.js';
import { isNullish, isTruthy } from '../truth.js';
import { refuseVariableName, withVariable } from '../variables.js';

/** Operators that bind variables. */
export const iterationOperators: OperatorTable = {
  $map: compileMap,
  $filter: compileFilter,
  $reduce: compileReduce,
  $let: compileLet,
};

function compileMap(operand: Value, compile: Compile): Evaluate {
  const parts = namedArguments(operand, '$map', ['input', 'as', 'in'], ['input', 'in']);
  const input = compile(parts.get('input') ?? null);
  const name = variableName(parts.get('as'));
  const body = compile(parts.get('in') ?? null, [name]);
  return (variables) => {
    const items = listOrNull(input(variables), 16883, '$map');
    return items === null ? null : items.map((item) => body(withVariable(variables, name, item)) ?? null);
  };
}

function compileFilter(operand: Value, compile: Compile): Evaluate {
  const parts = namedArguments(operand, '$filter', ['input', 'as', 'cond'], ['input', 'cond']);
  const input = compile(parts.get('input') ?? null);
  const name = variableName(parts.get('as'));
  const test = compile(parts.get('cond') ?? null, [name]);
  return (variables) => {
    const items = listOrNull(input(variables), 28651, '$filter');
    return items === null ? null : items.filter((item) => isTruthy(test(withVariable(variables, name, item))));
  };
}

function compileReduce(operand: Value, compile: Compile): Evaluate {
  const parts = namedArguments(operand, '$reduce', ['input', 'initialValue', 'in'], ['input', 'initialValue', 'in']);
  const input = compile(parts.get('input') ?? null);
  const initial = compile(parts.get('initialValue') ?? null);
  const body = compile(parts.get('in') ?? null, ['this', 'value']);
  return (variables) => {
    const items = listOrNull(input(variables), 40080, '$reduce');
    if (items === null) return null;
    let value = initial(variables);
    for (const item of items) value = body(withVariable(withVariable(variables, 'value', value), 'this', item));
    return value;
  };
}

function compileLet(operand: Value, compile: Compile): Evaluate {
  const parts = namedArguments(operand, '$let', ['vars', 'in'], ['vars', 'in']);
  const vars = parts.get('vars');
  if (!(vars instanceof Map)) throw located(16874, '$let only supports an object as its argument');
  const bindings = [...vars].map(([name, value]) => [name, compile(value)] as const);
  for (const name of vars.keys()) refuseVariableName(name);
  const body = compile(parts.get('in') ?? null, [...vars.keys()]);
  return (variables) => {
    let inner = variables;
    for (const [name, evaluate] of bindings) inner = withVariable(inner, name, evaluate(variables));
    return body(inner);
  };
}

function variableName(value: Value | undefined): string {
  if (typeof value !== 'string') return 'this';
  refuseVariableName(value);
  return value;
}

function listOrNull(value: Value | undefined, code: number, name: string): Value[] | null {
  if (isNullish(value)) return null;
  if (Array.isArray(value)) return value;
  if (name === '$reduce')
    throw located(code, `$reduce requires that 'input' be an array, found: ${computedText(value)}`);
  throw located(code, `input to ${name} must be an array not ${typeName(value)}`);
}
