import { describe, expect, it } from 'vitest';
import { parseCollation } from '../../../src/bson/collation.js';
import { compileMatcher } from '../../../src/query/matcher.js';
import { ServerVersion } from '../../../src/node/server-version.js';
import { doc } from '../json.js';

type Json = Record<string, unknown>;

function matches(filter: Json, document: Json): boolean {
  return compileMatcher(doc(filter))(doc(document));
}

describe('a filter matches', () => {
  it.each<[Json, Json]>([
    [{}, { a: 1 }],
    [{ a: 1 }, { a: { $numberDouble: '1.0' } }],
    [{ a: 1 }, { a: [3, 1] }],
    [{ a: [1, 2] }, { a: [1, 2] }],
    [{ a: [1] }, { a: [[1], 2] }],
    [{ a: null }, {}],
    [{ a: null }, { a: null }],
    [{ 'a.b': null }, { a: 5 }],
    [{ 'a.b': 1 }, { a: [{ b: 2 }, { b: 1 }] }],
    [{ 'a.1.b': 1 }, { a: [{ b: 2 }, { b: 1 }] }],
    [{ 'a.1': 5 }, { a: [4, 5] }],
    [{ 'a.0': [5] }, { a: [[5], 4] }],
    [{ a: { $gt: 1, $lt: 3 } }, { a: 2 }],
    [{ a: { $gt: 1, $lt: 3 } }, { a: [0, 5] }],
    [{ a: { $gte: { $numberLong: '2' } } }, { a: 2 }],
    [{ a: { $ne: 1 } }, {}],
    [{ a: { $in: [1, null] } }, { b: 1 }],
    [{ a: { $in: [1, 2, 3, 4, 5, 6, { $numberLong: '7' }] } }, { a: 7 }],
    [{ a: { $in: [{ $regularExpression: { pattern: '^x', options: 'i' } }] } }, { a: 'Xy' }],
    [{ a: { $nin: [1] } }, { a: 2 }],
    [{ a: { $exists: false } }, { b: 1 }],
    [{ a: { $exists: true } }, { a: null }],
    [{ a: { $type: 'number' } }, { a: { $numberLong: '1' } }],
    [{ a: { $type: ['string', 4] } }, { a: [] }],
    [{ a: { $regex: 'B', $options: 'i' } }, { a: 'abc' }],
    [{ a: { $not: { $gt: 5 } } }, {}],
    [{ a: { $all: [1, 2] } }, { a: [2, 3, 1] }],
    [{ a: { $elemMatch: { b: 1, c: 2 } } }, { a: [{ b: 1 }, { b: 1, c: 2 }] }],
    [{ a: { $elemMatch: { $gt: 1, $lt: 3 } } }, { a: [5, 2] }],
    [{ a: { $size: 2 } }, { a: [1, 2] }],
    [{ a: { $mod: [4, 1] } }, { a: 5 }],
    [{ $or: [{ a: 1 }, { b: 2 }] }, { b: 2 }],
    [{ $and: [{ a: 1 }, { b: 2 }] }, { a: 1, b: 2 }],
    [{ $nor: [{ a: 1 }] }, { a: 2 }],
    [{ $expr: { $gt: ['$a', '$b'] } }, { a: 2, b: 1 }],
    [
      { $expr: { $and: [{ $gte: ['$documentKey._id', 3] }, { $lt: ['$documentKey._id', 9] }] } },
      { documentKey: { _id: 3 } },
    ],
    [{ a: { $gt: { $minKey: 1 } } }, { a: 'x' }],
    [{ a: { $bitsAllSet: [0, 2] } }, { a: 5 }],
    [{ a: { $eq: { $gt: 1 } } }, { a: { $gt: 1 } }],
    [{ a: { $ref: 'x', $id: 1 } }, { a: { $ref: 'x', $id: 1 } }],
    [{ a: { $in: [{ $id: 1, $ref: 'x' }] } }, { a: { $id: 1, $ref: 'x' } }],
    [{ a: { b: 1, $x: 1 } }, { a: { b: 1, $x: 1 } }],
    [{ $jsonSchema: { required: ['a'], properties: { a: { bsonType: 'int', minimum: 2 } } } }, { a: 3 }],
  ])('%j on %j', (filter, document) => {
    expect(matches(filter, document)).toBe(true);
  });
});

describe('a filter does not match', () => {
  it.each<[Json, Json]>([
    [{ a: 1 }, { a: '1' }],
    [{ a: { $gt: 1 } }, { a: 'x' }],
    [{ 'a.0': 5 }, { a: [[5], 4] }],
    [{ a: { $lt: 1 } }, {}],
    [{ a: { $gt: null } }, { a: 5 }],
    [{ 'a.b': null }, { a: [] }],
    [{ 'a.b': null }, { a: [1, 2] }],
    [{ a: { $ne: 1 } }, { a: [1, 2] }],
    [{ a: { $nin: [1] } }, { a: [1] }],
    [{ a: { $elemMatch: { $gt: 1, $lt: 3 } } }, { a: [0, 5] }],
    [{ a: { $all: [] } }, { a: [] }],
    [{ a: { $lt: { $numberDouble: 'NaN' } } }, { a: 1 }],
    [{ a: { $gte: 0 } }, { a: { $numberDouble: 'NaN' } }],
    [{ $jsonSchema: { required: ['a'] } }, { b: 3 }],
    [{ a: { b: 1, c: 2 } }, { a: { c: 2, b: 1 } }],
  ])('%j on %j', (filter, document) => {
    expect(matches(filter, document)).toBe(false);
  });
});

describe('null in a filter', () => {
  const releases = ['7.0', '8.0'].map((series) => ServerVersion.parse(series));
  const undefinedToo = [
    { a: null },
    { a: { $eq: null } },
    { a: { $in: [1, null] } },
    { a: { $gte: null } },
    { a: { $all: [null] } },
    { a: { $elemMatch: { $eq: null } } },
  ];

  it.each(undefinedToo)('%j matches undefined, since 8.0 no longer', (filter) => {
    const document = doc(
      JSON.stringify(filter).includes('elem') ? { a: [{ $undefined: true }] } : { a: { $undefined: true } },
    );
    expect(releases.map((version) => compileMatcher(doc(filter), undefined, { version })(document))).toEqual([
      true,
      false,
    ]);
  });

  it.each<Json>([{}, { a: null }, { a: [null] }])('matches %j in all releases', (document) => {
    expect(releases.map((version) => compileMatcher(doc({ a: null }), undefined, { version })(doc(document)))).toEqual([
      true,
      true,
    ]);
  });
});

it('compares texts by a collation', () => {
  const collation = parseCollation(doc({ locale: 'en', strength: 2 }));
  expect(compileMatcher(doc({ a: 'ABC' }), collation)(doc({ a: 'abc' }))).toBe(true);
  expect(compileMatcher(doc({ a: { $in: ['x', 'ABC'] } }), collation)(doc({ a: 'abc' }))).toBe(true);
});

describe('a filter the server refuses', () => {
  it.each<[Json, number, string]>([
    [
      { $price: 1 },
      2,
      "unknown top level operator: $price. If you have a field name that starts with a '$' symbol, consider " +
        'using $getField or $setField.',
    ],
    [{ a: { $foo: 1 } }, 2, 'unknown operator: $foo'],
    [{ a: { $in: 1 } }, 2, '$in needs an array'],
    [{ a: { $undefined: true } }, 2, 'cannot compare to undefined'],
    [{ a: { $gte: { $undefined: true } } }, 2, 'cannot compare to undefined'],
    [{ a: { $in: [null, { $undefined: true }] } }, 2, 'InMatchExpression equality cannot be undefined'],
    [{ $or: [] }, 2, '$and/$or/$nor must be a nonempty array'],
    [{ a: { $not: 5 } }, 2, '$not needs a regex or a document'],
    [{ $expr: { $nope: 1 } }, 168, "Unrecognized expression '$nope'"],
    [{ $jsonSchema: { maximum: 1 } }, 115, '$jsonSchema.maximum is not part of this simulation'],
  ])('%j', (filter, code, message) => {
    expect(() => compileMatcher(doc(filter))).toThrow(expect.objectContaining({ code, message }) as Error);
  });
});
