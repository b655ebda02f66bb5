import type { Doc, Value } from '../bson/value.js';
import { compareValues, equalValues } from '../bson/compare.js';
import { isNumber, toNumber } from '../bson/exact-number.js';
import { isNumberType, typeName, typeOf } from '../bson/type-of.js';
import { failedToParse, typeMismatch } from './query-error.js';
import { compileRegex } from './regex.js';

/** Whether a value keeps a rule. */
export type Check = (value: Value) => boolean;
type KeywordCompiler = (operand: Value, schema: Doc) => Check | undefined;

/** JSON's names of types, as `type` takes them; `bsonType` takes the names of BSON. */
const jsonTypes: Record<string, string> = {
  object: 'object',
  array: 'array',
  number: 'number',
  boolean: 'bool',
  string: 'string',
  null: 'null',
};

/**
 * Compiles a `$jsonSchema` with the usual keywords of draft 4.
 * @throws CommandError 9 for an unknown keyword, 14 for an operand of the wrong type
 */
export function compileJsonSchema(schema: Value): (doc: Doc) => boolean {
  if (!(schema instanceof Map)) throw typeMismatch('$jsonSchema must be an object');
  return compileSchema(schema);
}

/** Whether a value keeps one rule of a schema. */
export function matchesKeyword(keyword: string, operand: Value, schema: Doc, value: Value): boolean {
  return keywords[keyword]?.(operand, schema)?.(value) ?? true;
}

/** Compiles a schema for values of any type. @throws CommandError as `compileJsonSchema` */
export function compileSchema(schema: Doc): Check {
  const checks: Check[] = [];
  for (const [keyword, operand] of schema) {
    const compile = keywords[keyword];
    if (compile === undefined) throw failedToParse(`Unknown $jsonSchema keyword: ${keyword}`);
    const check = compile(operand, schema);
    if (check !== undefined) checks.push(check);
  }
  return (value) => checks.every((check) => check(value));
}

const keywords: Record<string, KeywordCompiler> = {
  title: () => undefined,
  description: () => undefined,
  exclusiveMinimum: () => undefined,
  exclusiveMaximum: () => undefined,
  bsonType: (operand) => typeCheck(operand),
  type: (operand) => typeCheck(typeof operand === 'string' ? (jsonTypes[operand] ?? operand) : operand),
  required: (operand) => {
    const names = list('required', operand).map(String);
    return forDocuments((doc) => names.every((name) => doc.has(name)));
  },
  properties: (operand) => {
    const properties = [...document('properties', operand)].map(([name, schema]) => [name, subschema(schema)] as const);
    return forDocuments((doc) => properties.every(([name, check]) => !doc.has(name) || check(doc.get(name) ?? null)));
  },
  patternProperties: (operand) => {
    const patterns = [...document('patternProperties', operand)].map(
      ([pattern, schema]) => [compileRegex(pattern, ''), subschema(schema)] as const,
    );
    return forDocuments((doc) =>
      [...doc].every(([name, value]) => patterns.every(([pattern, check]) => !pattern.test(name) || check(value))),
    );
  },
  additionalProperties: (operand, schema) => additionalCheck(operand, schema),
  minProperties: (operand) => forDocuments((doc) => doc.size >= number(operand)),
  maxProperties: (operand) => forDocuments((doc) => doc.size <= number(operand)),
  enum: (operand) => {
    const values = list('enum', operand);
    return (value) => values.some((allowed) => equalValues(allowed, value));
  },
  minimum: (operand, schema) =>
    forNumbers((value) => compareValues(value, operand) >= (schema.get('exclusiveMinimum') === true ? 1 : 0)),
  maximum: (operand, schema) =>
    forNumbers((value) => compareValues(value, operand) <= (schema.get('exclusiveMaximum') === true ? -1 : 0)),
  multipleOf: (operand) => forNumbers((value) => isNumber(value) && toNumber(value) % number(operand) === 0),
  minLength: (operand) => forTexts((text) => Array.from(text).length >= number(operand)),
  maxLength: (operand) => forTexts((text) => Array.from(text).length <= number(operand)),
  pattern: (operand) => {
    const regex = compileRegex(text('pattern', operand), '');
    return forTexts((text) => regex.test(text));
  },
  items: (operand) => itemsCheck(operand),
  additionalItems: () => undefined,
  minItems: (operand) => forArrays((items) => items.length >= number(operand)),
  maxItems: (operand) => forArrays((items) => items.length <= number(operand)),
  uniqueItems: (operand) =>
    operand === true
      ? forArrays((items) => items.every((item, at) => !items.slice(at + 1).some((other) => equalValues(item, other))))
      : undefined,
  allOf: (operand) => {
    const checks = list('allOf', operand).map(subschema);
    return (value) => checks.every((check) => check(value));
  },
  anyOf: (operand) => {
    const checks = list('anyOf', operand).map(subschema);
    return (value) => checks.some((check) => check(value));
  },
  oneOf: (operand) => {
    const checks = list('oneOf', operand).map(subschema);
    return (value) => checks.filter((check) => check(value)).length === 1;
  },
  not: (operand) => {
    const check = subschema(operand);
    return (value) => !check(value);
  },
};

function typeCheck(operand: Value): Check {
  const names = new Set((Array.isArray(operand) ? operand : [operand]).map(String));
  return (value) => names.has(typeName(value)) || (names.has('number') && isNumberType(typeOf(value)));
}

function additionalCheck(operand: Value, schema: Doc): Check {
  const properties = schema.get('properties');
  const patterns = schema.get('patternProperties');
  const known = properties instanceof Map ? properties : new Map();
  const regexes = patterns instanceof Map ? [...patterns.keys()].map((pattern) => compileRegex(pattern, '')) : [];
  const check: Check = operand === false ? () => false : operand === true ? () => true : subschema(operand);
  const isKnown = (name: string): boolean => known.has(name) || regexes.some((regex) => regex.test(name));
  return forDocuments((doc) => [...doc].every(([name, value]) => isKnown(name) || check(value)));
}

function itemsCheck(operand: Value): Check {
  if (Array.isArray(operand)) {
    const checks = operand.map(subschema);
    return forArrays((items) => items.every((item, index) => checks[index]?.(item) ?? true));
  }
  const check = subschema(operand);
  return forArrays((items) => items.every(check));
}

function forDocuments(check: (doc: Doc) => boolean): Check {
  return (value) => !(value instanceof Map) || check(value);
}

function forArrays(check: (items: Value[]) => boolean): Check {
  return (value) => !Array.isArray(value) || check(value);
}

function forNumbers(check: Check): Check {
  return (value) => !isNumber(value) || check(value);
}

function forTexts(check: (text: string) => boolean): Check {
  return (value) => typeof value !== 'string' || check(value);
}

function subschema(value: Value): Check {
  return compileSchema(document('schema', value));
}

function document(keyword: string, value: Value): Doc {
  if (!(value instanceof Map)) throw typeMismatch(`$jsonSchema keyword '${keyword}' must be an object`);
  return value;
}

function list(keyword: string, value: Value): Value[] {
  if (!Array.isArray(value)) throw typeMismatch(`$jsonSchema keyword '${keyword}' must be an array`);
  return value;
}

function number(value: Value): number {
  if (!isNumber(value)) throw typeMismatch('$jsonSchema keyword must be a number');
  return toNumber(value);
}

function text(keyword: string, value: Value): string {
  if (typeof value !== 'string') throw typeMismatch(`$jsonSchema keyword '${keyword}' must be a string`);
  return value;
}
