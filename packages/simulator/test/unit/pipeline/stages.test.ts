import { describe, expect, it } from 'vitest';
import { toExtendedJson } from '../../extended-json.js';
import type { Doc } from '../../../src/bson/value.js';
import { CommandError } from '../../../src/node/command.js';
import { ServerVersion } from '../../../src/node/server-version.js';
import { compilePipeline } from '../../../src/pipeline/stages.js';
import { doc } from '../json.js';

type Json = Record<string, unknown>;

function run(stages: Json[], docs: Json[], foreign: Json[] = []): string {
  const pipeline = compilePipeline(stages.map(doc), { lookup: () => foreign.map(doc) });
  return JSON.stringify([...pipeline(docs.map(doc))].map((found) => toExtendedJson(found)));
}

function text(docs: Json[]): string {
  return JSON.stringify(docs.map((found) => toExtendedJson(doc(found))));
}

const numbers = [1, 2, 3, 4].map((n) => ({ _id: n, odd: n % 2 === 1, n }));

describe('a pipeline', () => {
  it.each<[Json[], Json[], Json[]]>([
    [
      [{ $match: { n: { $gt: 2 } } }, { $project: { n: 1 } }],
      numbers,
      [
        { _id: 3, n: 3 },
        { _id: 4, n: 4 },
      ],
    ],
    [[{ $sort: { n: -1 } }, { $skip: 1 }, { $limit: 1 }, { $project: { _id: 1 } }], numbers, [{ _id: 3 }]],
    [
      [{ $group: { _id: '$odd', sum: { $sum: '$n' }, avg: { $avg: '$n' }, all: { $push: '$n' } } }],
      numbers,
      [
        { _id: true, sum: 4, avg: { $numberDouble: '2.0' }, all: [1, 3] },
        { _id: false, sum: 6, avg: { $numberDouble: '3.0' }, all: [2, 4] },
      ],
    ],
    [[{ $group: { _id: null, n: { $sum: 1 } } }], numbers, [{ _id: null, n: 4 }]],
    [[{ $group: { _id: { x: '$x' } } }], [{ x: null }, {}], [{ _id: { x: null } }]],
    [
      [{ $group: { _id: { x: '$x', y: '$y' } } }],
      [{ x: 1 }, { x: 1, y: null }],
      [{ _id: { x: 1 } }, { _id: { x: 1, y: null } }],
    ],
    [
      [{ $project: { _id: '$a' } }, { $sort: { _id: 1 } }],
      [{ a: [] }, { a: [0] }, { a: 3 }],
      [{ _id: 3 }, { _id: [] }, { _id: [0] }],
    ],
    [
      [{ $unset: 'a' }, { $unwind: { path: '$b', includeArrayIndex: 'a' } }],
      [{ a: 1, b: [2] }],
      [{ a: { $numberLong: '0' }, b: 2 }],
    ],
    [[{ $count: 'total' }], numbers, [{ total: 4 }]],
    [
      [{ $redact: { $cond: [{ $eq: ['$hide', true] }, '$$PRUNE', '$$DESCEND'] } }],
      [{ a: { hide: true, x: 1 }, b: [{ hide: true }, { y: 2 }] }, { hide: true }],
      [{ b: [{ y: 2 }] }],
    ],
    [[{ $unwind: '$a' }], [{ a: [1, 2] }, { a: [] }, { a: 3 }], [{ a: 1 }, { a: 2 }, { a: 3 }]],
    [
      [{ $unwind: { path: '$a', preserveNullAndEmptyArrays: true, includeArrayIndex: 'i' } }],
      [{ a: [5] }, { b: 1 }],
      [
        { a: 5, i: { $numberLong: '0' } },
        { b: 1, i: null },
      ],
    ],
    [[{ $addFields: { 'a.b': 1, c: '$x' } }], [{ a: [{}, 1], x: 2 }], [{ a: [{ b: 1 }, { b: 1 }], x: 2, c: 2 }]],
    [[{ $unset: ['a', 'b.c'] }], [{ a: 1, b: { c: 1, d: 1 } }], [{ b: { d: 1 } }]],
    [[{ $replaceWith: '$a' }], [{ a: { b: 1 } }], [{ b: 1 }]],
    [[{ $replaceRoot: { newRoot: '$a' } }], [{ a: { b: 1 } }], [{ b: 1 }]],
    [
      [{ $facet: { few: [{ $limit: 1 }, { $project: { _id: 1 } }], count: [{ $count: 'n' }] } }],
      numbers,
      [{ few: [{ _id: 1 }], count: [{ n: 4 }] }],
    ],
    [
      [{ $bucket: { groupBy: '$n', boundaries: [1, 3], default: 'more' } }],
      numbers,
      [
        { _id: 1, count: 2 },
        { _id: 'more', count: 2 },
      ],
    ],
  ])('%j', (stages, docs, expected) => {
    expect(run(stages, docs)).toBe(text(expected));
  });

  it('joins another collection', () => {
    const foreign = [{ _id: 1, k: 1 }, { _id: 2, k: [1, 2] }, { _id: 3 }];
    expect(
      run([{ $lookup: { from: 'f', localField: 'k', foreignField: 'k', as: 'found' } }], [{ k: 2 }, {}], foreign),
    ).toBe(text([{ k: 2, found: [{ _id: 2, k: [1, 2] }] }, { found: [{ _id: 3 }] }]));
    expect(
      run(
        [{ $lookup: { from: 'f', localField: 'k', foreignField: '_id', as: 'a.b' } }],
        [
          { a: { b: 1, c: 2 }, k: 1 },
          { a: [1], k: [] },
        ],
        foreign,
      ),
    ).toBe(
      text([
        { a: { b: [{ _id: 1, k: 1 }], c: 2 }, k: 1 },
        { a: { b: [] }, k: [] },
      ]),
    );
    const pipeline = [{ $match: { $expr: { $eq: ['$_id', '$$wanted'] } } }];
    expect(run([{ $lookup: { from: 'f', let: { wanted: '$k' }, pipeline, as: 'found' } }], [{ k: 3 }], foreign)).toBe(
      text([{ k: 3, found: [{ _id: 3 }] }]),
    );
  });

  it('samples as many as asked for', () => {
    expect((JSON.parse(run([{ $sample: { size: 3 } }], numbers)) as unknown[]).length).toBe(3);
  });

  it('refuses unknown stages as the server does', () => {
    const unknown = (name: string): Error =>
      expect.objectContaining({ code: 40324, message: `Unrecognized pipeline stage name: '${name}'` }) as Error;
    expect(() => run([{ $nonsense: {} }], [])).toThrow(unknown('$nonsense'));
    const younger = doc({ $changeStreamSplitLargeEvent: {} });
    expect(() => compilePipeline([younger], { lookup: () => [], version: ServerVersion.parse('5.0') })).toThrow(
      unknown('$changeStreamSplitLargeEvent'),
    );
  });
});

describe('what fails in a pipeline', () => {
  it('is refused by name before stages that servers bring forward', () => {
    const failing = { $set: { n: { $add: ['$n', 'x'] } } };
    for (const later of [{ $match: { n: 9 } }, { $skip: 1 }])
      expect(() => run([failing, later], numbers)).toThrow(/is not part of this simulation/);
    expect(() => run([{ $match: { n: 1 } }, failing], numbers)).toThrow('$add only supports numeric or date types');
  });

  it('is refused by name where a $lookup replaces a field of which servers read a part', () => {
    const lookup = { $lookup: { from: 'c', localField: 'a.a', foreignField: '_id', as: 'a' } };
    const [whole, part] = [{ $project: { a: 1, d: 1 } }, { $project: { 'a.c': 1, d: 1 } }];
    expect(() => run([lookup, part], numbers)).toThrow(/is not part of this simulation/);
    expect(run([lookup, whole], [{ _id: 1, a: 0, d: 2 }])).toBe(text([{ _id: 1, a: [], d: 2 }]));
  });

  it('is refused by name where servers may not read back a match that they bring forward', () => {
    const onElements = { $match: { a: { $elemMatch: { $not: { $all: [1] } } } } };
    const onFields = { $match: { a: { $elemMatch: { b: { $all: [1] } } } } };
    const inFacet = { $facet: { x: [{ $sort: { n: 1 } }, onElements] } };
    for (const stages of [[{ $sort: { n: 1 } }, onElements], [inFacet]])
      expect(() => run(stages, numbers)).toThrow(/is not part of this simulation/);
    expect(run([{ $sort: { n: 1 } }, onFields], numbers)).toBe('[]');
    expect(run([{ $match: { n: 1 } }, onElements, onElements], [])).toBe('[]');
  });

  it('before its first stage is reported unchanged', () => {
    const broken = function* (): Generator<Doc> {
      yield doc({ _id: 1 });
      throw new CommandError(175, 'QueryPlanKilled', 'killed');
    };
    const pipeline = compilePipeline([doc({ $set: { a: 1 } }), doc({ $match: { a: 1 } })], {});
    expect(() => [...pipeline(broken())]).toThrow('killed');
  });

  it('leaves a place for a path only where something is computed beside it', () => {
    expect(run([{ $project: { 'c.a': 1 } }, { $set: { b: 1, c: 2 } }], [{ _id: 1, c: 1 }])).toBe(
      text([{ _id: 1, b: 1, c: 2 }]),
    );
    expect(run([{ $project: { 'c.a': 1, e: '$f' } }, { $set: { b: 1, c: 2 } }], [{ _id: 1 }])).toBe(
      text([{ _id: 1, c: 2, b: 1 }]),
    );
  });

  it('finds what is joined by _id in its order', () => {
    expect(
      run(
        [{ $lookup: { from: 'other', localField: 'l', foreignField: '_id', as: 'j' } }],
        [{ l: [2, 1] }],
        [{ _id: 2 }, { _id: 1 }],
      ),
    ).toBe(text([{ l: [2, 1], j: [{ _id: 1 }, { _id: 2 }] }]));
  });
});
