import fc from 'fast-check';
import { BSON, type Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { type Delta, deltaOf, touchesKey } from '../../../src/apply/delta.js';
import { deltaPipeline, deltaUpdate } from './delta-pipeline.js';
import { mergeDeltas } from '../../../src/apply/action.js';
import { DocumentBuilder } from '../../../src/bson/build.js';
import { elementType } from '../../../src/bson/element-type.js';
import { decodeUtf8 } from '../../../src/bson/utf8.js';
import { bytesOf } from '../model/parts.js';

function deltaWith(
  updatedFields: Record<string, unknown>,
  removedFields: string[] = [],
  truncatedArrays: unknown[] = [],
): Delta | null {
  return deltaOf(bytesOf({ updatedFields, removedFields, truncatedArrays }));
}

function exact(updatedFields: Record<string, unknown>, removedFields: string[] = []): Delta {
  const delta = deltaWith(updatedFields, removedFields);
  if (delta === null) throw new Error('the delta is not exact');
  return delta;
}

describe('an update description', () => {
  it.each([
    ['a path with a dot', { 'a.b': 1 }, []],
    ['an array index or a field named 0', { 'a.0': 1 }, []],
    ['a removed path', {}, ['a.b']],
    ['a field that was removed and set again', { a: 1 }, ['a']],
    ['an _id', { _id: 1 }, []],
  ])('with %s cannot be replayed exactly', (_what, updated, removed) => {
    expect(deltaWith(updated, removed)).toBeNull();
  });

  it('with an embedded truncated array cannot be replayed exactly without disambiguatedPaths', () => {
    expect(deltaWith({}, [], [{ field: 'a.list', newSize: 1 }])).toBeNull();
  });

  it.each([
    ['a truncated array', [{ field: 'list', newSize: 2 }], { $set: { list: { $slice: ['$list', 2] } } }],
    ['an emptied array', [{ field: 'list', newSize: 0 }], { $set: { list: { $literal: [] } } }],
  ])('with %s is replayed by its first elements', (_what, truncated, stage) => {
    const delta = deltaWith({}, [], truncated);
    expect(delta === null ? null : BSON.deserialize(deltaPipeline(delta))).toEqual({ 0: stage });
  });

  it.each([
    ['begins with $', '$a'],
    ['is empty', ''],
  ])('with a name that %s is replayed by an expression with the literal name', (_what, name) => {
    const stages = BSON.deserialize(deltaPipeline(exact({ [name]: 1 }))) as { 0: { $replaceWith: unknown } };
    expect(stages['0'].$replaceWith).toEqual({
      $setField: { field: { $literal: name }, input: '$$ROOT', value: { $literal: 1 } },
    });
  });

  it('with a path that fits two fields cannot be replayed exactly', () => {
    const parts = { updatedFields: {}, truncatedArrays: [], disambiguatedPaths: { 'b.0': ['b.0'] } };
    expect(deltaOf(bytesOf({ ...parts, removedFields: ['b.0'] }))).not.toBeNull();
    expect(deltaOf(bytesOf({ ...parts, removedFields: ['b.0', 'b.0'] }))).toBeNull();
  });

  it('uses disambiguatedPaths where the server reports them', () => {
    const description = {
      updatedFields: { 'a.b': 1, 'c.d': 2, 'e.0': 3, 'f.1': 4 },
      removedFields: [],
      truncatedArrays: [],
      disambiguatedPaths: { 'c.d': ['c.d'], 'e.0': ['e', '0'] },
    };
    const delta = deltaOf(bytesOf(description));
    expect(delta?.form === 'paths' ? delta.changes.map(({ path }) => path) : null).toEqual([
      ['a', 'b'],
      ['c.d'],
      ['e', '0'],
      ['f', 1],
    ]);
  });

  it('of more than 4 MB is not replayed', () => {
    expect(deltaWith({ a: 'x'.repeat(4 * 1024 * 1024) })).toBeNull();
  });

  it('becomes a pipeline of literal values in the given order', () => {
    const pipeline = BSON.deserialize(deltaPipeline(exact({ z: '$notAField', a: { $literal: 1 } }, ['m'])));
    expect(Object.values(pipeline)).toEqual([
      { $set: { z: { $literal: '$notAField' }, a: { $literal: { $literal: 1 } } } },
      { $unset: ['m'] },
    ]);
    expect(Object.keys((pipeline['0'] as { $set: object }).$set)).toEqual(['z', 'a']);
  });

  it.each<[string, Document, string[], Document]>([
    ['one field', { a: '$notAField' }, [], { $set: { a: '$notAField' } }],
    ['fields by their names', { 1: 0, A: 1, a: 2, ab: 3, b: 4 }, [], { $set: { 1: 0, A: 1, a: 2, ab: 3, b: 4 } }],
    ['removed fields, in any order', {}, ['z', 'a'], { $unset: { z: '', a: '' } }],
    ['both', { m: null }, ['z', 'a'], { $set: { m: null }, $unset: { z: '', a: '' } }],
  ])('is sent as operators: %s', (_what, updated, removed, operators) => {
    const { type, bytes } = deltaUpdate(exact(updated, removed));
    expect([type, BSON.deserialize(bytes)]).toEqual([elementType.document, operators]);
  });

  it.each<[string, Document]>([
    ['new fields may not be in the order of their names', { z: 1, a: 1 }],
    ['names begin with digits, which servers order as numbers', { 10: 1, '9x': 1 }],
    ['it changes nothing', {}],
  ])('is sent as a pipeline: %s', (_what, updated) => {
    expect(deltaUpdate(exact(updated)).type).toBe(elementType.array);
  });

  it('is sent with the fields that a fold leaves', () => {
    const folded = mergeDeltas(exact({ a: 1, b: 2 }), exact({ b: 3 }, ['a']));
    const { bytes } = deltaUpdate(folded ?? exact({}));
    expect(BSON.deserialize(bytes)).toEqual({ $set: { b: 3 }, $unset: { a: '' } });
  });

  it('that touches the shard key is detected by the first part of its path', () => {
    expect(touchesKey(exact({ a: 1 }), [{ field: 'a.b', hashed: false }])).toBe(true);
    expect(touchesKey(exact({}, ['a']), [{ field: 'a', hashed: true }])).toBe(true);
    expect(
      touchesKey(exact({ b: 1 }), [
        { field: 'a', hashed: false },
        { field: '_id', hashed: false },
      ]),
    ).toBe(false);
  });
});

describe('a path that nests the pipeline deeper with every part', () => {
  /** The levels of documents and arrays, as a server counts them. */
  const levelsOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(levelsOf)) : 0;
  const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
  const exactAt = (
    path: readonly unknown[],
    value: unknown,
    kind: 'set' | 'unset' | 'truncate' = 'set',
  ): Delta | null => {
    const text = path.join('.');
    return deltaOf(
      bytesOf({
        updatedFields: kind === 'set' ? { [text]: value } : {},
        removedFields: kind === 'unset' ? [text] : [],
        truncatedArrays: kind === 'truncate' ? [{ field: text, newSize: 3 }] : [],
        disambiguatedPaths: { [text]: path },
      }),
    );
  };
  /** Levels around the stages: the statement in a command of a router, and the array of stages. */
  const levelsAround = 3;

  it.each(['set', 'unset', 'truncate'] as const)('is replayed up to the depth that servers accept: %s', (kind) => {
    const part = fc.oneof(fc.constant('items'), fc.constant('odd.name'), fc.nat({ max: 9 }));
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1, maxLength: 60, size: 'max' }),
        fc.nat({ max: 170 }),
        (inner, levels) => {
          const path = ['list', ...inner, ...(kind === 'unset' ? ['last'] : [])];
          const delta = exactAt(path, nested(levels), kind);
          if (delta !== null)
            expect(levelsOf(BSON.deserialize(deltaPipeline(delta))) + levelsAround).toBeLessThanOrEqual(190);
          else expect(path.length * 5 + (kind === 'set' ? levels : 0)).toBeGreaterThan(165);
        },
      ),
    );
  });

  it('is replayed at any depth when all its names are plain', () => {
    expect(
      exactAt(
        Array.from({ length: 100 }, () => 'plain'),
        1,
      ),
    ).not.toBeNull();
  });
});

describe('two deltas of one document', () => {
  const at = (
    set: Record<string, unknown>,
    unset: string[],
    disambiguatedPaths: Record<string, unknown> = {},
  ): Delta => {
    const delta = deltaOf(
      bytesOf({ updatedFields: set, removedFields: unset, truncatedArrays: [], disambiguatedPaths }),
    );
    if (delta === null) throw new Error('the delta is not exact');
    return delta;
  };

  it('fold into one set and one unset, each field at the position of its first value', () => {
    const merged = mergeDeltas(exact({ a: 1, b: 1, d: 1 }, ['c']), exact({ e: 2, b: 2 }, ['d']));
    const pipeline = merged === null ? null : BSON.deserialize(deltaPipeline(merged));
    expect(pipeline).toEqual({
      0: { $set: { a: { $literal: 1 }, b: { $literal: 2 }, d: { $literal: 1 }, e: { $literal: 2 } } },
      1: { $unset: ['c', 'd'] },
    });
    expect(Object.keys((pipeline as { 0: { $set: object } })['0'].$set)).toEqual(['a', 'b', 'd', 'e']);
  });

  it.each<[string, Delta, Delta]>([
    ['a field', at({}, ['a']), at({ b: 1, a: 2 }, [])],
    [
      'a field that an update between them did not change',
      mergeDeltas(at({}, ['a']), at({ b: 1 }, [])) ?? at({}, []),
      at({ a: 2 }, []),
    ],
    ['an inner field', at({}, ['o.a']), at({ 'o.a': 1 }, [])],
    ['something inside of what was taken out', at({}, ['o']), at({ 'o.a': 1 }, [])],
    ['a field of an element', at({}, ['l.3.a']), at({ 'l.3.a': 1 }, [])],
    ['a name with a dot', at({}, ['o.a'], { 'o.a': ['o.a'] }), at({ 'o.a': 1 }, [], { 'o.a': ['o.a'] })],
  ])('stay two updates when the later one sets %s that the earlier one removes', (_what, earlier, later) => {
    expect(mergeDeltas(earlier, later)).toBeNull();
  });

  it.each<[string, Delta, Delta]>([
    ['a field', exact({}, ['a']), exact({}, ['a'])],
    ['a field beside others', at({ b: 1 }, ['a']), at({ c: 1 }, ['a'])],
    ['a field between other changes', exact({}, ['a']), at({ 'o.b': 1 }, ['a'])],
  ])('stay two updates when both remove %s: the document repeats it', (_what, earlier, later) => {
    expect(mergeDeltas(earlier, later)).toBeNull();
  });

  it.each<[string, Delta, Delta]>([
    ['its whole document', at({}, ['o.a']), at({ o: { a: 1 } }, [])],
    ['another field', at({}, ['a']), at({ b: 1, 'o.a': 1 }, [])],
    ['nothing, and takes out what the earlier one sets', at({ a: 1 }, []), at({}, ['a'])],
  ])('become one update when the later one sets %s', (_what, earlier, later) => {
    expect(mergeDeltas(earlier, later)).not.toBeNull();
  });

  it('keep the bytes of names that are not UTF-8', () => {
    const [odd, other] = [Uint8Array.of(0x61, 0xff), Uint8Array.of(0x61, 0xfe)].map((bytes) =>
      decodeUtf8(Buffer.from(bytes), 0, bytes.length),
    ) as [string, string];
    const description = (set: string, unset: string, parts: readonly string[] | null): Uint8Array => {
      const builder = new DocumentBuilder()
        .begin('updatedFields')
        .int32(set, 1)
        .end()
        .begin('removedFields', elementType.array)
        .string('0', unset)
        .end();
      if (parts === null) return builder.finish();
      builder.begin('disambiguatedPaths').begin(set, elementType.array);
      parts.forEach((part, index) => builder.string(String(index), part));
      return builder.end().end().finish();
    };
    const merged = (parts: readonly string[] | null, set: string): Buffer => {
      const deltas = [description(set, 'b', parts), description('c', other, null)].map((bytes) => deltaOf(bytes));
      const [first, second] = deltas as [Delta, Delta];
      return Buffer.from(deltaPipeline(mergeDeltas(first, second) ?? first));
    };
    for (const pipeline of [merged(null, odd), merged(['list', odd], `list.${odd}`)]) {
      expect(pipeline.includes(Buffer.of(0x61, 0xff, 0))).toBe(true);
      expect(pipeline.includes(Buffer.of(0x61, 0xfe, 0))).toBe(true);
      expect(pipeline.includes(Buffer.from('\ufffd'))).toBe(false);
    }
  });

  it('stay two updates when they are too large for one', () => {
    const large = (name: string): Delta => exact({ [name]: 'x'.repeat(3 * 1024 * 1024) });
    expect(mergeDeltas(large('a'), large('b'))).toBeNull();
    expect(mergeDeltas(large('a'), large('a'))).not.toBeNull();
    let delta: Delta | null = at({ 'o.a': 1 }, []);
    for (let count = 0; delta !== null && count < 1_000; count += 1)
      delta = mergeDeltas(delta, at({ [`o.f${count}`]: 1 }, []));
    expect(delta).toBeNull();
  });

  it.each<[string, Record<string, unknown>]>([
    ['a field', { n: 1 }],
    ['a field inside of another', { 'o.n': 1 }],
    ['an element', { 'list.3': 1 }],
    ['fields and elements', { m: 1, 'o.n': 1, 'list.3.n': 1 }],
  ])('are one change, however many they are, when they set %s again and again', (_what, fields) => {
    const last = Object.fromEntries(Object.keys(fields).map((path) => [path, 1_000]));
    let delta: Delta | null = at(fields, []);
    for (let count = 0; delta !== null && count <= 1_000; count += 1)
      delta = mergeDeltas(delta, at(Object.fromEntries(Object.keys(fields).map((path) => [path, count])), []));
    expect(delta === null ? null : deltaPipeline(delta)).toEqual(deltaPipeline(at(last, [])));
  });

  it('set a path again in a stage of its own when an update between them touches what it is inside of', () => {
    const deltas = [at({ 'o.n': 1, a: 1 }, []), at({ o: {} }, []), at({ 'o.n': 2 }, []), at({ 'o.n': 3 }, [])];
    const [first, ...later] = deltas as [Delta, ...Delta[]];
    const merged = later.reduce<Delta | null>((all, one) => (all === null ? null : mergeDeltas(all, one)), first);
    expect(merged === null ? null : Object.values(BSON.deserialize(deltaPipeline(merged)))).toEqual([
      { $set: { 'o.n': { $literal: 1 }, a: { $literal: 1 } } },
      { $set: { o: { $literal: {} } } },
      { $set: { 'o.n': { $literal: 3 } } },
    ]);
  });
});
