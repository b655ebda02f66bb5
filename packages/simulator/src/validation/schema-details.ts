import { Int32 } from 'bson';
import { equalValues } from '../bson/compare.js';
import { typeName } from '../bson/type-of.js';
import type { Doc, Value } from '../bson/value.js';
import { compileSchema, matchesKeyword } from '../query/json-schema.js';
import { compileRegex } from '../query/regex.js';

/** Keywords that another keyword's explanation replaces. */
const SILENT: ReadonlySet<string> = new Set(['title', 'description', 'exclusiveMinimum', 'exclusiveMaximum']);

/** The rules of a schema that a value breaks, as `schemaRulesNotSatisfied` lists them since 5.0. */
export function schemaDetails(schema: Doc, value: Value): Doc[] {
  return [...schema].flatMap(([keyword, operand]) => {
    if (SILENT.has(keyword) || matchesKeyword(keyword, operand, schema, value)) return [];
    return [ruleDetails(keyword, operand, schema, value)];
  });
}

function ruleDetails(keyword: string, operand: Value, schema: Doc, value: Value): Doc {
  const details: Doc = new Map([['operatorName', keyword]]);
  const explain = explanations[keyword];
  if (explain !== undefined) return explain(details, operand, value, schema);
  details
    .set('specifiedAs', specifiedAs(keyword, operand, schema))
    .set('reason', reasons[keyword] ?? 'comparison failed');
  details.set('consideredValue', value);
  if (keyword === 'bsonType' || keyword === 'type') details.set('consideredType', typeName(value));
  return details;
}

/** A bound and its exclusion belong together. */
function specifiedAs(keyword: string, operand: Value, schema: Doc): Doc {
  const specified: Doc = new Map([[keyword, operand]]);
  const companion = keyword === 'minimum' ? 'exclusiveMinimum' : keyword === 'maximum' ? 'exclusiveMaximum' : undefined;
  const excluded = companion === undefined ? undefined : schema.get(companion);
  if (companion !== undefined && excluded !== undefined) specified.set(companion, excluded);
  return specified;
}

const reasons: Readonly<Record<string, string>> = {
  bsonType: 'type did not match',
  type: 'type did not match',
  enum: 'value was not found in enum',
  minLength: 'specified string length was not satisfied',
  maxLength: 'specified string length was not satisfied',
  pattern: 'regular expression did not match',
  minItems: 'array did not match specified length',
  maxItems: 'array did not match specified length',
  multipleOf: 'considered value is not a multiple of the specified value',
};

type Explain = (details: Doc, operand: Value, value: Value, schema: Doc) => Doc;

const explanations: Readonly<Record<string, Explain>> = {
  properties: (details, operand, value) =>
    details.set('propertiesNotSatisfied', brokenProperties(docOf(operand), docOf(value))),
  required: (details, operand, value) =>
    details.set('specifiedAs', new Map([['required', operand]])).set(
      'missingProperties',
      list(operand)
        .filter((name) => typeof name === 'string' && !docOf(value).has(name))
        .sort(),
    ),
  patternProperties: (details, operand, value) => details.set('details', brokenPatterns(docOf(operand), docOf(value))),
  additionalProperties: explainAdditional,
  minProperties: (details, operand, value) => countedProperties(details, 'minProperties', operand, value),
  maxProperties: (details, operand, value) => countedProperties(details, 'maxProperties', operand, value),
  items: explainItems,
  uniqueItems: (details, operand, value) => {
    const items = list(value);
    const duplicate = items.find((item, at) => items.slice(at + 1).some((other) => equalValues(item, other))) ?? null;
    return details
      .set('specifiedAs', new Map([['uniqueItems', operand]]))
      .set('reason', 'found a duplicate item')
      .set('consideredValue', value)
      .set('duplicatedValue', duplicate);
  },
  allOf: (details, operand, value) => details.set('schemasNotSatisfied', brokenSchemas(operand, value)),
  anyOf: (details, operand, value) => details.set('schemasNotSatisfied', brokenSchemas(operand, value)),
  oneOf: explainOneOf,
  not: (details) => details.set('reason', 'child expression matched'),
};

function brokenProperties(properties: Doc, document: Doc): Doc[] {
  return [...properties].flatMap(([propertyName, schema]) => {
    const value = document.get(propertyName);
    if (value === undefined || !(schema instanceof Map) || compileSchema(schema)(value)) return [];
    return [
      new Map<string, Value>([
        ['propertyName', propertyName],
        ['details', schemaDetails(schema, value)],
      ]),
    ];
  });
}

function brokenPatterns(patterns: Doc, document: Doc): Doc[] {
  return [...patterns].flatMap(([pattern, schema]) => {
    const regex = compileRegex(pattern, '');
    return [...document].flatMap(([propertyName, value]) => {
      if (!regex.test(propertyName) || !(schema instanceof Map) || compileSchema(schema)(value)) return [];
      return [
        new Map<string, Value>([
          ['propertyName', propertyName],
          ['regexMatched', pattern],
          ['details', schemaDetails(schema, value)],
        ]),
      ];
    });
  });
}

function explainAdditional(details: Doc, operand: Value, value: Value, schema: Doc): Doc {
  const regexes = [...docOf(schema.get('patternProperties') ?? null).keys()].map((pattern) =>
    compileRegex(pattern, ''),
  );
  const known = docOf(schema.get('properties') ?? null);
  const others = [...docOf(value)].filter(([name]) => !known.has(name) && !regexes.some((regex) => regex.test(name)));
  if (!(operand instanceof Map)) {
    return details.set('specifiedAs', new Map([['additionalProperties', operand]])).set(
      'additionalProperties',
      others.map(([name]) => name),
    );
  }
  const matches = compileSchema(operand);
  const broken = others.find(([, inner]) => !matches(inner));
  return details
    .set('reason', 'at least one additional property did not match the subschema')
    .set('failingProperty', broken?.[0] ?? '')
    .set('details', schemaDetails(operand, broken?.[1] ?? null));
}

function countedProperties(details: Doc, keyword: string, operand: Value, value: Value): Doc {
  return details
    .set('specifiedAs', new Map([[keyword, operand]]))
    .set('reason', 'specified number of properties was not satisfied')
    .set('numberOfProperties', new Int32(docOf(value).size));
}

function explainItems(details: Doc, operand: Value, value: Value): Doc {
  const items = list(value);
  const schemaAt = (index: number): Doc | undefined => {
    const schema = Array.isArray(operand) ? operand[index] : operand;
    return schema instanceof Map ? schema : undefined;
  };
  const at = items.findIndex((item, index) => {
    const schema = schemaAt(index);
    return schema !== undefined && !compileSchema(schema)(item);
  });
  return details
    .set('reason', 'At least one item did not match the sub-schema')
    .set('itemIndex', new Int32(at))
    .set('details', schemaDetails(schemaAt(at) ?? new Map<string, Value>(), items[at] ?? null));
}

function brokenSchemas(operand: Value, value: Value): Doc[] {
  return list(operand).flatMap((schema, index) => {
    if (!(schema instanceof Map) || compileSchema(schema)(value)) return [];
    return [
      new Map<string, Value>([
        ['index', new Int32(index)],
        ['details', schemaDetails(schema, value)],
      ]),
    ];
  });
}

function explainOneOf(details: Doc, operand: Value, value: Value): Doc {
  const matching = list(operand).flatMap((schema, index) =>
    schema instanceof Map && compileSchema(schema)(value) ? [new Int32(index)] : [],
  );
  if (matching.length === 0) return details.set('schemasNotSatisfied', brokenSchemas(operand, value));
  return details.set('reason', 'more than one subschema matched').set('matchingSchemaIndexes', matching);
}

function docOf(value: Value): Doc {
  return value instanceof Map ? value : new Map<string, Value>();
}

function list(value: Value): Value[] {
  return Array.isArray(value) ? value : [];
}
