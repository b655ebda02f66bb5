import type { Doc, Value } from '../bson/value.js';
import { compareValues } from '../bson/compare.js';
import { isNumber } from '../bson/exact-number.js';
import { isNumberType, typeName, typeOf } from '../bson/type-of.js';
import { unsimulated } from '../node/unsimulated.js';
import { typeMismatch } from './query-error.js';

/** Whether a value keeps a rule. */
type Check = (value: Value) => boolean;
type KeywordCompiler = (operand: Value) => Check;

/**
 * Compiles a `$jsonSchema`.
 * @throws CommandError 14 for an operand of the wrong type, 115 for a keyword that is not simulated
 */
export function compileJsonSchema(schema: Value): (doc: Doc) => boolean {
  if (!(schema instanceof Map)) throw typeMismatch('$jsonSchema must be an object');
  return compileSchema(schema);
}

/** Compiles a schema for values of any type. @throws CommandError as `compileJsonSchema` */
function compileSchema(schema: Doc): Check {
  const checks = [...schema].map(([keyword, operand]) => {
    if (keyword === 'additionalProperties' && operand === false) return onlyProperties(schema);
    const compile = keywords[keyword];
    if (compile === undefined) throw unsimulated(`$jsonSchema.${keyword}`);
    return compile(operand);
  });
  return (value) => checks.every((check) => check(value));
}

const keywords: Record<string, KeywordCompiler> = {
  bsonType: typeCheck,
  required: (operand) => {
    const names = list('required', operand).map(String);
    return forDocuments((doc) => names.every((name) => doc.has(name)));
  },
  properties: (operand) => {
    const properties = [...document('properties', operand)].map(([name, schema]) => [name, subschema(schema)] as const);
    return forDocuments((doc) => properties.every(([name, check]) => !doc.has(name) || check(doc.get(name) ?? null)));
  },
  minimum: (operand) => (value) => !isNumber(value) || compareValues(value, operand) >= 0,
};

/** No other fields than the properties. */
function onlyProperties(schema: Doc): Check {
  const named = document('properties', schema.get('properties') ?? new Map<string, Value>());
  return forDocuments((doc) => [...doc.keys()].every((name) => named.has(name)));
}

function typeCheck(operand: Value): Check {
  const names = new Set((Array.isArray(operand) ? operand : [operand]).map(String));
  return (value) => names.has(typeName(value)) || (names.has('number') && isNumberType(typeOf(value)));
}

function forDocuments(check: (doc: Doc) => boolean): Check {
  return (value) => !(value instanceof Map) || check(value);
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
