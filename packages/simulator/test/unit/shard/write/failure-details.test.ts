import { describe, expect, it } from 'vitest';
import { failureDetails } from '../../../../src/shard/write/collection-access.js';
import { doc } from '../../json.js';
import { plain } from '../shard-fixture.js';

type Fields = Record<string, unknown>;

function details(validator: Fields, document: Fields): unknown {
  return plain(failureDetails(doc(validator), doc(document)));
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
    expect(details({ a: { $gt: 5 } }, {})).toMatchObject({ operatorName: '$gt', reason: 'field was missing' });
  });

  it.each<[Fields, Fields]>([
    [{ $jsonSchema: { required: ['a'] } }, {}],
    [{ $or: [{ a: 1 }, { b: 1 }] }, {}],
    [{ $expr: { $gt: ['$a', 1] } }, {}],
    [{ a: { $exists: true } }, {}],
    [{ a: { $gt: 1 }, b: { $gt: 1 } }, { a: 1 }],
    [{ 'a.b': { $gt: 1 } }, {}],
    [{ a: { $gt: 1 } }, { a: [0] }],
    [{ a: 1 }, {}],
  ])('of %j are refused by name', (validator, document) => {
    expect(details(validator, document)).toEqual({
      reason: 'the explanation of this failed validation is not part of this simulation',
    });
  });
});
