import { typeName } from '../../bson/type-of.js';
import type { Value } from '../../bson/value.js';
import { located } from '../../query/query-error.js';
import { type Compile, type Evaluate, namedArguments, type OperatorTable } from '../operator.js';
import { isNullish, isTruthy } from '../truth.js';
import { withVariable } from '../variables.js';

/** Operators that bind variables. */
export const iterationOperators: OperatorTable = { $map: compileMap, $filter: compileFilter, $reduce: compileReduce, $let: compileLet };

function compileMap(operand: Value, compile: Compile): Evaluate {
  const parts = namedArguments(operand, '$map', ['input', 'as', 'in'], ['input', 'in']);
  const input = compile(parts.get('input') ?? null);
  const body = compile(parts.get('in') ?? null);
  const name = variableName(parts.get('as'));
  return (variables) => {
    const items = listOrNull(input(variables), 16883, '$map');
    return items === null ? null : items.map((item) => body(withVariable(variables, name, item)) ?? null);
  };
}

function compileFilter(operand: Value, compile: Compile): Evaluate {
  const parts = namedArguments(operand, '$filter', ['input', 'as', 'cond'], ['input', 'cond']);
  const input = compile(parts.get('input') ?? null);
  const test = compile(parts.get('cond') ?? null);
  const name = variableName(parts.get('as'));
  return (variables) => {
    const items = listOrNull(input(variables), 28651, '$filter');
    return items === null ? null : items.filter((item) => isTruthy(test(withVariable(variables, name, item))));
  };
}

function compileReduce(operand: Value, compile: Compile): Evaluate {
  const parts = namedArguments(operand, '$reduce', ['input', 'initialValue', 'in'], ['input', 'initialValue', 'in']);
  const input = compile(parts.get('input') ?? null);
  const initial = compile(parts.get('initialValue') ?? null);
  const body = compile(parts.get('in') ?? null);
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
  const body = compile(parts.get('in') ?? null);
  return (variables) => {
    let inner = variables;
    for (const [name, evaluate] of bindings) inner = withVariable(inner, name, evaluate(variables));
    return body(inner);
  };
}

function variableName(value: Value | undefined): string {
  return typeof value === 'string' ? value : 'this';
}

function listOrNull(value: Value | undefined, code: number, name: string): Value[] | null {
  if (isNullish(value)) return null;
  if (!Array.isArray(value)) throw located(code, `input to ${name} must be an array not ${typeName(value)}`);
  return value;
}
