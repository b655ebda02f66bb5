import { describe, expect, it } from 'vitest';
import type { Doc } from '../../../src/bson/value.js';
import { failureDetails } from '../../../src/validation/failure-details.js';
import { doc } from '../json.js';
import { plain } from '../shard/shard-fixture.js';

function details(validator: object, document: object): unknown {
  const failure: Doc = failureDetails(
    doc(validator as Record<string, unknown>),
    doc(document as Record<string, unknown>),
  );
  return plain(failure);
}

describe('details of a failed validation', () => {
  it('name the operator, its operand and the considered value', () => {
    expect(details({ u: { $type: 'number' } }, { u: 'x' })).toEqual({
      operatorName: '$type',
      specifiedAs: { u: { $type: 'number' } },
      reason: 'type did not match',
      consideredValue: 'x',
      consideredType: 'string',
    });
    expect(details({ a: { $gt: 5 } }, { a: 3 })).toEqual({
      operatorName: '$gt',
      specifiedAs: { a: { $gt: 5 } },
      reason: 'comparison failed',
      consideredValue: 3,
    });
    expect(details({ a: 1 }, {})).toEqual({ operatorName: '$eq', specifiedAs: { a: 1 }, reason: 'field was missing' });
    expect(details({ a: { $exists: true } }, {})).toEqual({
      operatorName: '$exists',
      specifiedAs: { a: { $exists: true } },
      reason: 'path does not exist',
    });
    expect(details({ a: { $ne: 2 } }, { a: 2 })).toMatchObject({
      operatorName: '$ne',
      reason: 'comparison succeeded',
      consideredValue: 2,
    });
    expect(details({ a: { $nin: [2] } }, { a: 2 })).toMatchObject({
      operatorName: '$nin',
      reason: 'matching value found in array',
    });
    expect(details({ a: { $in: [2] } }, { a: [3, 4] })).toMatchObject({
      reason: 'no matching value found in array',
      consideredValues: [3, 4, [3, 4]],
    });
  });

  it('name the clauses that are to blame', () => {
    expect(details({ a: { $gt: 5 }, b: { $lt: 10 } }, { a: 6, b: 11 })).toMatchObject({
      operatorName: '$and',
      clausesNotSatisfied: [{ index: 1, details: { operatorName: '$lt' } }],
    });
    expect(details({ $or: [{ a: 1 }, { b: 1 }] }, { a: 2, b: 2 })).toMatchObject({
      operatorName: '$or',
      clausesNotSatisfied: [{ index: 0 }, { index: 1 }],
    });
    expect(details({ $nor: [{ a: 1 }] }, { a: 1 })).toMatchObject({
      operatorName: '$nor',
      clausesNotSatisfied: [{ index: 0, details: { reason: 'comparison succeeded' } }],
    });
    expect(details({ a: { $not: { $gt: 1 } } }, { a: 2 })).toMatchObject({
      operatorName: '$not',
      details: { operatorName: '$gt', reason: 'comparison succeeded' },
    });
    expect(details({ $expr: { $eq: ['$a', '$b'] } }, { a: 1, b: 2 })).toMatchObject({
      operatorName: '$expr',
      reason: 'expression did not match',
      expressionResult: false,
    });
  });

  it('name the rules of a schema that are broken, with their places', () => {
    const $jsonSchema = {
      required: ['a', 'b'],
      additionalProperties: false,
      properties: { _id: {}, a: { bsonType: 'int', minimum: 10 }, c: { items: { bsonType: 'string' } } },
    };
    expect(details({ $jsonSchema }, { _id: 1, a: 3, c: ['x', 5], z: 1 })).toEqual({
      operatorName: '$jsonSchema',
      schemaRulesNotSatisfied: [
        { operatorName: 'required', specifiedAs: { required: ['a', 'b'] }, missingProperties: ['b'] },
        {
          operatorName: 'additionalProperties',
          specifiedAs: { additionalProperties: false },
          additionalProperties: ['z'],
        },
        {
          operatorName: 'properties',
          propertiesNotSatisfied: [
            {
              propertyName: 'a',
              details: [
                {
                  operatorName: 'minimum',
                  specifiedAs: { minimum: 10 },
                  reason: 'comparison failed',
                  consideredValue: 3,
                },
              ],
            },
            {
              propertyName: 'c',
              details: [
                {
                  operatorName: 'items',
                  reason: 'At least one item did not match the sub-schema',
                  itemIndex: 1,
                  details: [
                    {
                      operatorName: 'bsonType',
                      specifiedAs: { bsonType: 'string' },
                      reason: 'type did not match',
                      consideredValue: 5,
                      consideredType: 'int',
                    },
                  ],
                },
              ],
            },
          ],
        },
      ],
    });
  });

  it('explain combinations of schemas', () => {
    const oneOf = [{ bsonType: 'object' }, { required: ['a'] }];
    expect(details({ $jsonSchema: { oneOf } }, { a: 1 })).toMatchObject({
      schemaRulesNotSatisfied: [
        { operatorName: 'oneOf', reason: 'more than one subschema matched', matchingSchemaIndexes: [0, 1] },
      ],
    });
    expect(details({ $jsonSchema: { not: { required: ['a'] } } }, { a: 1 })).toMatchObject({
      schemaRulesNotSatisfied: [{ operatorName: 'not', reason: 'child expression matched' }],
    });
  });
});
