import { describe, expect, it } from 'vitest';
import { toExtendedJson } from '../../extended-json.js';
import type { Doc } from '../../../src/bson/value.js';
import { applyUpdate } from '../../../src/update/apply.js';
import { describeUpdate } from '../../../src/update/describe.js';
import { upsertDocument } from '../../../src/update/upsert.js';
import { doc, value } from '../json.js';

type Json = Record<string, unknown>;

function text(document: Doc): string {
  return JSON.stringify(toExtendedJson(document));
}

function after(before: Json, update: Json | Json[], arrayFilters: Json[] = []): string {
  const filters = arrayFilters.map(doc);
  return text(applyUpdate(doc(before), value(update) as Doc | Doc[], { arrayFilters: filters }).after);
}

describe('an update changes', () => {
  it.each<[Json, Json | Json[], Json]>([
    [{ _id: 1 }, { $set: { z: 1, b: 2, 'a.c': 3 } }, { _id: 1, a: { c: 3 }, b: 2, z: 1 }],
    [{ _id: 1, a: 1 }, { $unset: { a: 1, 'b.c': 1 } }, { _id: 1 }],
    [{ _id: 1, a: [1, 2] }, { $unset: { 'a.0': 1 } }, { _id: 1, a: [null, 2] }],
    [{ _id: 1, a: 1 }, { $inc: { a: { $numberLong: '2' } } }, { _id: 1, a: { $numberLong: '3' } }],
    [{ _id: 1, a: 2147483647 }, { $inc: { a: 1 } }, { _id: 1, a: { $numberLong: '2147483648' } }],
    [
      { _id: 1, a: { $numberDecimal: '0.1' } },
      { $inc: { a: { $numberDecimal: '0.2' } } },
      { _id: 1, a: { $numberDecimal: '0.3' } },
    ],
    [{ _id: 1 }, { $mul: { a: 3 } }, { _id: 1, a: 0 }],
    [
      { _id: 1, a: 5 },
      { $min: { a: 3 }, $max: { b: 1 } },
      { _id: 1, a: 3, b: 1 },
    ],
    [{ _id: 1, a: 1, b: { c: 2 } }, { $rename: { a: 'x', 'b.c': 'd' } }, { _id: 1, b: {}, d: 2, x: 1 }],
    [{ _id: 1, a: [1] }, { $push: { a: { $each: [5, 3], $sort: 1, $slice: 2 } } }, { _id: 1, a: [1, 3] }],
    [{ _id: 1, a: [1] }, { $push: { a: { $each: [0], $position: 0 } } }, { _id: 1, a: [0, 1] }],
    [{ _id: 1 }, { $push: { a: 1 } }, { _id: 1, a: [1] }],
    [{ _id: 1, a: [1] }, { $addToSet: { a: { $each: [1, 2] } } }, { _id: 1, a: [1, 2] }],
    [{ _id: 1, a: [1, 2, 3] }, { $pop: { a: -1 } }, { _id: 1, a: [2, 3] }],
    [{ _id: 1, a: [1, 2, 3] }, { $pull: { a: { $gte: 2 } } }, { _id: 1, a: [1] }],
    [{ _id: 1, a: [{ b: 1, c: 1 }, { b: 2 }] }, { $pull: { a: { b: 1 } } }, { _id: 1, a: [{ b: 2 }] }],
    [{ _id: 1, a: [1, 2, 1] }, { $pullAll: { a: [1] } }, { _id: 1, a: [2] }],
    [{ _id: 1, a: 5 }, { $bit: { a: { and: 4, or: 2 } } }, { _id: 1, a: 6 }],
    [{ _id: 1, a: [1] }, { $set: { 'a.3': 4 } }, { _id: 1, a: [1, null, null, 4] }],
    [{ _id: 1, a: 1 }, { b: 2 }, { _id: 1, b: 2 }],
    [{ _id: 1 }, { $setOnInsert: { a: 1 } }, { _id: 1 }],
    [{ _id: 1, a: 1, b: 2 }, [{ $set: { c: { $add: ['$a', '$b'] } } }, { $unset: 'a' }], { _id: 1, b: 2, c: 3 }],
    [{ _id: 1, a: 1 }, [{ $replaceWith: { b: '$a' } }], { _id: 1, b: 1 }],
    [
      { _id: 1, a: 1 },
      [{ $replaceWith: { $literal: { _id: 1, $x: '$a', 'p.q': 1 } } }],
      { _id: 1, $x: '$a', 'p.q': 1 },
    ],
  ])('%j by %j', (before, update, expected) => {
    expect(after(before, update)).toBe(text(doc(expected)));
  });

  it('all array elements, or those found by filters', () => {
    expect(after({ _id: 1, a: [1, 2] }, { $mul: { 'a.$[]': 10 } })).toBe(text(doc({ _id: 1, a: [10, 20] })));
    expect(after({ _id: 1, a: [1, 20, 30] }, { $set: { 'a.$[big]': 0 } }, [{ big: { $gt: 5 } }])).toBe(
      text(doc({ _id: 1, a: [1, 0, 0] })),
    );
  });

  it.each<[string, Json, Json[], Json]>([
    ['by its name', { _id: 1, a: 1, b: 2 }, [{ $unset: 'a' }, { $set: { a: 3 } }], { _id: 1, a: 3, b: 2 }],
    [
      'inside of another',
      { _id: 1, o: { a: 1, b: 2 } },
      [{ $unset: 'o.a' }, { $set: { 'o.a': 3 } }],
      { _id: 1, o: { a: 3, b: 2 } },
    ],
    [
      'in the elements of an array',
      { _id: 1, l: [{ a: 1, b: 2 }] },
      [{ $unset: 'l.a' }, { $set: { 'l.a': 3 } }],
      { _id: 1, l: [{ a: 3, b: 2 }] },
    ],
    [
      'that an earlier stage has added',
      { _id: 1 },
      [{ $set: { a: 1, b: 2 } }, { $unset: 'a' }, { $set: { c: 3, a: 4 } }],
      { _id: 1, a: 4, b: 2, c: 3 },
    ],
    [
      'that was given no value',
      { _id: 1 },
      [{ $set: { a: '$none' } }, { $set: { b: 2 } }, { $set: { a: 1 } }],
      { _id: 1, a: 1, b: 2 },
    ],
    [
      'by expressions',
      { _id: 1, a: 1, b: 2 },
      [
        { $replaceWith: { $unsetField: { field: 'a', input: '$$ROOT' } } },
        { $replaceWith: { $setField: { field: 'a', input: '$$ROOT', value: 3 } } },
      ],
      { _id: 1, a: 3, b: 2 },
    ],
    [
      'when its document is moved',
      { _id: 1, o: { a: 1, b: 2 } },
      [{ $unset: 'o.a' }, { $set: { p: '$o' } }, { $set: { 'p.a': 3 } }],
      { _id: 1, o: { b: 2 }, p: { a: 3, b: 2 } },
    ],
    [
      'not in a document that was set whole',
      { _id: 1, o: { a: 1 } },
      [{ $unset: 'o.a' }, { $set: { o: { $literal: { b: 2 } } } }, { $set: { 'o.a': 3 } }],
      { _id: 1, o: { b: 2, a: 3 } },
    ],
    [
      'not in merged documents',
      { _id: 1, a: 1, b: 2 },
      [{ $unset: 'a' }, { $replaceWith: { $mergeObjects: ['$$ROOT'] } }, { $set: { a: 3 } }],
      { _id: 1, b: 2, a: 3 },
    ],
  ])('by one pipeline a field that it has taken out at its old place: %s', (_where, before, update, expected) => {
    expect(after(before, update)).toBe(text(doc(expected)));
  });

  it.each<[Json, Json, string]>([
    [{ _id: 1, a: { $numberDouble: 'NaN' } }, { $inc: { a: 1 } }, 'delta'],
    [{ _id: 1, a: { $numberDecimal: '1.50' } }, { $mul: { a: { $numberDecimal: '1.0' } } }, 'none'],
    [{ _id: 1, a: { $numberDouble: '-0.0' } }, { $inc: { a: 0 } }, 'none'],
    [{ _id: 1, a: [null] }, { $unset: { 'a.0': '' } }, 'delta'],
    [{ _id: 1, a: [1] }, { $push: { a: { $each: [2], $slice: 1 } } }, 'delta'],
    [{ _id: 1, a: [1, 2] }, { $push: { a: { $each: [], $sort: 1 } } }, 'delta'],
    [{ _id: 1, a: [1, 2] }, { $push: { a: { $each: [], $slice: 5 } } }, 'none'],
  ])('%j by %j, which leaves the same value: %s', (before, update, kind) => {
    const result = applyUpdate(doc(before), doc(update));
    expect(result.kind).toBe(kind);
    expect(text(result.after)).toBe(text(doc(before)));
    if (kind === 'delta')
      expect(describeUpdate(doc(before), result.after, doc(update))).toMatchObject({
        updatedFields: expect.objectContaining({ size: 1 }) as unknown,
      });
  });

  it('nothing when the bytes stay the same', () => {
    const before = doc({ _id: 1, a: 1 });
    expect(applyUpdate(before, doc({ $set: { a: 1 } }))).toEqual({ after: before, kind: 'none' });
    expect(applyUpdate(before, doc({ _id: 1, a: 1 })).kind).toBe('none');
    expect(applyUpdate(before, doc({ $set: { a: { $numberLong: '1' } } })).kind).toBe('delta');
    expect(applyUpdate(before, doc({ a: 2 })).kind).toBe('replace');
  });
});

describe('the server refuses', () => {
  it.each<[Json, Json, number, string]>([
    [{ _id: 1, a: 9 }, { $set: { 'a.b': 1 } }, 28, "Cannot create field 'b' in element {a: 9}"],
    [{ _id: 1 }, { $set: { a: 1, 'a.b': 1 } }, 40, "Updating the path 'a.b' would create a conflict at 'a'"],
    [{ _id: 1 }, { $set: { a: 1 }, $inc: { a: 1 } }, 40, "Updating the path 'a' would create a conflict at 'a'"],
    [
      { _id: 1 },
      { $nope: { a: 1 } },
      9,
      'Unknown modifier: $nope. Expected a valid update modifier or pipeline-style update specified as an array',
    ],
    [
      { _id: 1 },
      { $set: { _id: 2 } },
      66,
      "Performing an update on the path '_id' would modify the immutable field '_id'",
    ],
    [
      { _id: 1 },
      { _id: 2 },
      66,
      "After applying the update, the (immutable) field '_id' was found to have been altered to _id: 2",
    ],
    [
      { _id: 1, a: 2 },
      { $inc: { 'a.c': 3 }, $setOnInsert: { 'a.b': 1 } },
      28,
      "Cannot create field 'c' in element {a: 2}",
    ],
    [
      { _id: 1, a: [], b: 1 },
      { $rename: { b: 'a.c.d' } },
      2,
      "The destination field cannot be an array element, 'a.c.d' in doc with _id: 1 has an array field called 'a'",
    ],
    [
      { _id: 1, a: [1], b: 1 },
      { $rename: { b: 'a.0.c' } },
      2,
      "The destination field cannot be an array element, 'a.0.c' in doc with _id: 1 has an array field called 'a'",
    ],
    [
      { _id: 1, a: [], b: 1 },
      { $rename: { b: 'a.c' } },
      2,
      "The destination field cannot be an array element, 'a.c' in doc with _id: 1 has an array field called 'a'",
    ],
    [
      { _id: 1, a: 'x' },
      { $inc: { a: 1 } },
      14,
      "Cannot apply $inc to a value of non-numeric type. {_id: 1} has the field 'a' of non-numeric type string",
    ],
    [
      { _id: 1, a: 1 },
      { $push: { a: 1 } },
      2,
      "The field 'a' must be an array but is of type int in document {_id: 1}",
    ],
  ])('%j by %j', (before, update, code, message) => {
    expect(() => applyUpdate(doc(before), doc(update))).toThrow(expect.objectContaining({ code, message }) as Error);
  });

  it('a dollar field in a replacement of a stored document, not in an inserted one', () => {
    expect(() => applyUpdate(doc({ _id: 1 }), doc({ a: 1, $x: 1 }))).toThrow(
      expect.objectContaining({ code: 52 }) as Error,
    );
    expect(text(upsertDocument(doc({ _id: 1 }), doc({ a: 1, $x: 1 })))).toBe(text(doc({ _id: 1, a: 1, $x: 1 })));
  });
});

describe('an upsert inserts', () => {
  it.each<[Json, Json | Json[], Json]>([
    [{ _id: 3, sk: 3 }, { $set: { up: 1 } }, { _id: 3, sk: 3, up: 1 }],
    [
      { sk: { $gt: 3 }, 'a.b': 1, _id: 1 },
      { $inc: { n: 1 }, $setOnInsert: { s: 2 } },
      { _id: 1, a: { b: 1 }, n: 1, s: 2 },
    ],
    [
      { _id: 77, other: 1 },
      { _id: 77, v: 1 },
      { _id: 77, v: 1 },
    ],
    [{ k: 9, _id: 9 }, [{ $replaceWith: { $literal: { _id: 9, w: 1 } } }], { _id: 9, w: 1 }],
  ])('for %j and %j', (query, update, expected) => {
    expect(text(upsertDocument(doc(query), value(update) as Doc | Doc[]))).toBe(text(doc(expected)));
  });

  it('with an object id of its own', () => {
    expect([...upsertDocument(doc({ a: 1 }), doc({ $set: { b: 1 } })).keys()]).toEqual(['_id', 'a', 'b']);
  });
});

it('describes an appending $push by its new elements', () => {
  const before = doc({ _id: 1, a: [1, 2] });
  const update = doc({ $push: { a: 3 } });
  const description = describeUpdate(before, applyUpdate(before, update).after, update);
  expect(description).toMatchObject({ updatedFields: new Map([['a.2', value(3)]]) });
});

describe('further rules of operators', () => {
  it.each<[Json, Json, Json[], Json]>([
    [
      { _id: 1, g: [{ s: [1, 9] }, { s: [2] }] },
      { $set: { 'g.$[].s.$[big]': 0 } },
      [{ big: { $gt: 5 } }],
      { _id: 1, g: [{ s: [1, 0] }, { s: [2] }] },
    ],
    [
      { _id: 1, a: [{ k: 1 }, { k: 2 }] },
      { $set: { 'a.$[x].v': 5 } },
      [{ 'x.k': 2 }],
      { _id: 1, a: [{ k: 1 }, { k: 2, v: 5 }] },
    ],
    [{ _id: 1, a: [3, 1] }, { $push: { a: { $each: [], $sort: 1 } } }, [], { _id: 1, a: [1, 3] }],
    [
      { _id: 1, a: [{ s: 2 }, { s: 1 }] },
      { $push: { a: { $each: [{ s: 0 }], $sort: { s: 1 }, $slice: -2 } } },
      [],
      { _id: 1, a: [{ s: 1 }, { s: 2 }] },
    ],
    [
      { _id: 1, a: [{ x: [1, 2] }, { x: [3] }] },
      { $pull: { a: { x: { $elemMatch: { $gt: 2 } } } } },
      [],
      { _id: 1, a: [{ x: [1, 2] }] },
    ],
    [{ _id: 1, a: ['x', 'y'] }, { $pull: { a: { $in: ['x'] } } }, [], { _id: 1, a: ['y'] }],
    [{ _id: 1 }, { $set: {} }, [], { _id: 1 }],
  ])('%j by %j', (before, update, filters, expected) => {
    expect(after(before, update, filters)).toBe(text(doc(expected)));
  });

  it.each<[Json, Json, Json[], number]>([
    [{ _id: 1, a: { $numberLong: '9223372036854775807' } }, { $inc: { a: 1 } }, [], 2],
    [{ _id: 1, a: [{ b: 1 }] }, { $rename: { 'a.0': 'c' } }, [], 2],
    [{ _id: 1, a: 1 }, { $rename: { a: 'c.$[]' } }, [], 2],
    [{ _id: 1 }, { $set: { 'a.$[]': 1 } }, [], 2],
    [{ _id: 1, a: [1] }, { $set: { 'a.$[x]': 1 } }, [{ x: 1 }, { y: 1 }], 9],
    [{ _id: 1, a: [1] }, { $set: { 'a.$[X]': 1 } }, [{ X: 1 }], 2],
    [{ _id: 1, a: [1] }, { $addToSet: { a: { $each: [2], other: 1 } } }, [], 2],
    [{ _id: 1 }, { $currentDate: { a: { $type: 'date' } } }, [], 115],
    [{ _id: 1, a: [1] }, { $set: { 'a.$': 0 } }, [], 115],
    [{ _id: 1, a: [1] }, { $pop: { a: 2 } }, [], 9],
    [{ _id: 1, a: 'x' }, { $push: { a: 1 } }, [], 2],
    [{ _id: 1, a: { $numberDouble: '1.5' } }, { $bit: { a: { and: 1 } } }, [], 2],
  ])('%j by %j is refused', (before, update, filters, code) => {
    expect(() => after(before, update, filters)).toThrow(expect.objectContaining({ code }));
  });
});
