import fc from 'fast-check';
import { BSON } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { type Delta, deltaPipeline, exactDelta, mergeDeltas, touchesKey } from '../../../src/apply/delta.js';
import { elementType } from '../../../src/bson/element-type.js';
import { elementsOf, findValue, readDocument, readString } from '../../../src/bson/scan.js';
import { type Fields, fieldsOf, withField, withoutField } from '../model/raw-document.js';
import { bytesOf, rawOf } from '../model/parts.js';

function deltaOf(updatedFields: Record<string, unknown>, removedFields: string[] = [], truncatedArrays: unknown[] = []): Delta | null {
  return exactDelta(bytesOf({ updatedFields, removedFields, truncatedArrays }));
}

function exact(updatedFields: Record<string, unknown>, removedFields: string[] = []): Delta {
  const delta = deltaOf(updatedFields, removedFields);
  if (delta === null) throw new Error('the delta is not exact');
  return delta;
}

/** What a server does with the pipeline. */
function applied(delta: Delta, before: Fields): Fields {
  let fields = before;
  for (const [, stage] of fieldsOf(deltaPipeline(delta))) {
    for (const element of elementsOf(stage.bytes)) {
      const argument = readDocument(stage.bytes, element);
      if (element.type === elementType.array) for (const name of elementsOf(argument)) fields = withoutField(fields, readString(argument, name));
      else for (const [name, value] of fieldsOf(argument)) fields = withField(fields, name, findValue(value.bytes, '$literal') ?? rawOf('no literal'));
    }
  }
  return fields;
}

describe('an update description', () => {
  it.each([
    ['a path with a dot', { 'a.b': 1 }, []],
    ['an array index or a field named 0', { 'a.0': 1 }, []],
    ['a name that begins with $', { $a: 1 }, []],
    ['an empty name', { '': 1 }, []],
    ['a removed path', {}, ['a.b']],
    ['a field that was removed and set again', { a: 1 }, ['a']],
  ])('with %s cannot be replayed exactly', (_what, updated, removed) => {
    expect(deltaOf(updated, removed)).toBeNull();
  });

  it('with a truncated array cannot be replayed exactly', () => {
    expect(deltaOf({}, [], [{ field: 'list', newSize: 1 }])).toBeNull();
  });

  it('of more than 4 MB is read anew instead', () => {
    expect(deltaOf({ a: 'x'.repeat(4 * 1024 * 1024) })).toBeNull();
  });

  it('becomes a pipeline of literal values in the given order', () => {
    const pipeline = BSON.deserialize(deltaPipeline(exact({ z: '$notAField', a: { $literal: 1 } }, ['m'])));
    expect(Object.values(pipeline)).toEqual([{ $set: { z: { $literal: '$notAField' }, a: { $literal: { $literal: 1 } } } }, { $unset: ['m'] }]);
    expect(Object.keys((pipeline['0'] as { $set: object }).$set)).toEqual(['z', 'a']);
  });

  it('that touches the shard key is found by the top of its path', () => {
    expect(touchesKey(exact({ a: 1 }), [{ field: 'a.b', hashed: false }])).toBe(true);
    expect(touchesKey(exact({}, ['a']), [{ field: 'a', hashed: true }])).toBe(true);
    expect(touchesKey(exact({ b: 1 }), [{ field: 'a', hashed: false }, { field: '_id', hashed: false }])).toBe(false);
  });
});

describe('two deltas folded into one', () => {
  const names = ['a', 'b', 'c', 'd'];
  const delta = fc
    .record({ set: fc.uniqueArray(fc.constantFrom(...names)), unset: fc.uniqueArray(fc.constantFrom(...names)), value: fc.nat(3) })
    .map(({ set, unset, value }) => exact(Object.fromEntries(set.map((name) => [name, value])), unset.filter((name) => !set.includes(name))));
  const before = fc.uniqueArray(fc.constantFrom(...names)).map((present): Fields => present.map((name) => [name, rawOf(9)]));

  it('do what the two do one after the other, field order included', () => {
    fc.assert(
      fc.property(before, delta, delta, (fields, first, second) => {
        const merged = mergeDeltas(first, second);
        if (merged !== null) expect(applied(merged, fields)).toEqual(applied(second, applied(first, fields)));
      }),
    );
  });

  it('are not folded when a field would move', () => {
    expect(mergeDeltas(exact({}, ['a']), exact({ a: 1 }))).toBeNull();
    expect(mergeDeltas(exact({ a: 1 }), exact({}, ['a']))).toBeNull();
  });
});
