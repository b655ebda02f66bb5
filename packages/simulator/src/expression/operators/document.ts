import { computedText } from '../../bson/computed-text.js';
import { typeName } from '../../bson/type-of.js';
import type { Doc, Value } from '../../bson/value.js';
import { located } from '../../query/query-error.js';
import { type Compile, type Evaluate, fixed, namedArguments, type OperatorTable, variadic } from '../operator.js';
import { MutableDocument } from '../mutable-document.js';
import { isNullish } from '../truth.js';

/** Operators on documents. */
export const documentOperators: OperatorTable = {
  $mergeObjects: variadic(mergeObjects),
  $objectToArray: fixed(1, ([value]) => objectToArray(value)),
  $arrayToObject: fixed(1, ([value]) => arrayToObject(value)),
  $getField: compileGetField,
  $setField: (operand, compile) => compileSetField(operand, compile, '$setField'),
  $unsetField: (operand, compile) => compileSetField(operand, compile, '$unsetField'),
};

function mergeObjects(values: (Value | undefined)[]): Value {
  const lists = values.length === 1 && Array.isArray(values[0]) ? values[0] : values;
  const merged: Doc = new Map();
  for (const value of lists) {
    if (isNullish(value)) continue;
    if (!(value instanceof Map))
      throw located(
        40400,
        `$mergeObjects requires object inputs, but input ${computedText(value)} is of type ${typeName(value)}`,
      );
    for (const [name, field] of value) merged.set(name, field);
  }
  return merged;
}

function objectToArray(value: Value | undefined): Value {
  if (isNullish(value)) return null;
  if (!(value instanceof Map))
    throw located(40390, `$objectToArray requires a document input, found: ${typeName(value)}`);
  return [...value].map(
    ([name, field]) =>
      new Map<string, Value>([
        ['k', name],
        ['v', field],
      ]),
  );
}

function arrayToObject(value: Value | undefined): Value {
  if (isNullish(value)) return null;
  if (!Array.isArray(value)) throw located(40386, `$arrayToObject requires an array input, found: ${typeName(value)}`);
  const doc: Doc = new Map();
  for (const entry of value) {
    const [name, field] = entry instanceof Map ? [entry.get('k'), entry.get('v')] : Array.isArray(entry) ? entry : [];
    if (typeof name !== 'string')
      throw located(
        40395,
        '$arrayToObject requires an array of key-value pairs, where the key must be of type string. Found key ' +
          `type: ${typeName(name)}`,
      );
    doc.set(name, field ?? null);
  }
  return doc;
}

/** The name must be constant. A plain text may start with a dollar only inside `$literal`. */
function compileGetField(operand: Value, compile: Compile): Evaluate {
  const isLong = operand instanceof Map && (operand.has('field') || operand.has('input'));
  const parts = isLong
    ? namedArguments(operand, '$getField', ['field', 'input'], ['field', 'input'])
    : new Map([['field', operand]]);
  const name = constantName(parts.get('field'), '$getField');
  const input = compile(parts.get('input') ?? '$$CURRENT');
  return (variables) => {
    const value = input(variables);
    if (value instanceof Map) return value.get(name);
    return isNullish(value) ? value : undefined;
  };
}

function compileSetField(operand: Value, compile: Compile, operator: string): Evaluate {
  const names = operator === '$setField' ? ['field', 'input', 'value'] : ['field', 'input'];
  const parts = setFieldArguments(operand, operator, names);
  const name = constantName(parts.get('field'), operator);
  const input = compile(parts.get('input') ?? null);
  const computed = parts.get('value');
  const value = computed === undefined ? undefined : compile(computed);
  return (variables) => {
    const source = input(variables);
    if (isNullish(source)) return null;
    if (!(source instanceof Map)) throw located(4161105, `${operator} requires 'input' to evaluate to type Object`);
    const doc = new MutableDocument(source);
    doc.set(name, value?.(variables));
    return doc.frozen();
  };
}

function setFieldArguments(operand: Value, operator: string, names: string[]): ReadonlyMap<string, Value> {
  if (!(operand instanceof Map)) throw located(4161100, `${operator} only supports an object as its argument`);
  for (const name of operand.keys())
    if (!names.includes(name)) throw located(4161101, `${operator} found an unknown argument: ${name}`);
  for (const name of names)
    if (!operand.has(name)) throw located(4161102, `${operator} requires '${name}' to be specified`);
  return operand;
}

function constantName(field: Value | undefined, operator: string): string {
  const literal = field instanceof Map ? (field.get('$literal') ?? field.get('$const')) : undefined;
  const name = literal ?? field;
  if (typeof name !== 'string')
    throw located(4161107, `${operator} requires 'field' to evaluate to type String, but got ${typeName(name)}`);
  if (literal === undefined && name.startsWith('$'))
    throw located(4161108, notAllowedHere(`$CURRENT.${name.slice(1)}`));
  return name;
}

function notAllowedHere(path: string): string {
  return (
    `'${path}' is a field path reference which is not allowed in this context. Did you mean {$literal: ` + `'${path}'}?`
  );
}
