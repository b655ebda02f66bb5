import { BSON, type Document } from 'mongodb';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeDocument } from '@convoy/simulator/internal/bson/decode';
import { encodeDocument } from '@convoy/simulator/internal/bson/encode';
import type { Doc } from '@convoy/simulator/internal/bson/value';
import { applyUpdate } from '@convoy/simulator/internal/update/apply';
import { changedDocument, mergeDeltas } from '../../../src/apply/action.js';
import { type Delta, deltaOf, touchesKey } from '../../../src/apply/delta.js';
import { needsAbsence } from '../../../src/apply/write-delta.js';
import { bytesOf } from '../model/parts.js';
import { deltaPipeline } from './delta-pipeline.js';

function described(diff: Document): Delta | null {
  return deltaOf(bytesOf({ $v: 2, diff }));
}

function exact(diff: Document): Delta {
  const delta = described(diff);
  if (delta === null) throw new Error('the delta is not exact');
  return delta;
}

/** The document after a delta's pipeline, as text, which shows the order of fields. */
function after(document: Document, delta: Delta): string {
  const before = decodeDocument(bytesOf(document));
  const stages = [...decodeDocument(deltaPipeline(delta)).values()] as Doc[];
  const changed = encodeDocument(applyUpdate(before, stages).after);
  expect(Buffer.from(changedDocument(bytesOf(document), delta) ?? []).toString('hex')).toBe(
    Buffer.from(changed).toString('hex'),
  );
  return JSON.stringify(BSON.deserialize(changed));
}

const text = JSON.stringify;

/** `{f00: 1, …}`: names in their order. */
function fieldsOf(count: number): Document {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${String(n).padStart(3, '0')}`, 1]));
}

describe('a diff', () => {
  it('keeps the places of updated fields, and puts inserted ones last in its order', () => {
    const delta = exact({ d: { c: false }, u: { b: 2 }, i: { z: 3, a: 4 } });
    expect(after({ _id: 1, a: 1, b: 1, c: 1, d: 1 }, delta)).toBe(text({ _id: 1, b: 2, d: 1, z: 3, a: 4 }));
    expect(after({ _id: 1, b: 1, c: 1, d: 1 }, delta)).toBe(text({ _id: 1, b: 2, d: 1, z: 3, a: 4 }));
  });

  it('reaches into documents and arrays', () => {
    const delta = exact({
      so: { i: { x: 3 }, sin: { d: { gone: false }, u: { v: 2 } } },
      slist: { a: true, l: 2, u0: 9, s1: { i: { k: 1 } } },
    });
    const before = { _id: 1, o: { x: 1, in: { gone: 1, v: 1 }, y: 2 }, list: [1, { k: 0, m: 0 }, 3, 4] };
    expect(after(before, delta)).toBe(text({ _id: 1, o: { in: { v: 2 }, y: 2, x: 3 }, list: [9, { m: 0, k: 1 }] }));
  });

  it.each([
    ['a dot', { 'a.b': 1, a: { b: 0 }, z: 0 }, { i: { 'a.b': 2 } }, { a: { b: 0 }, z: 0, 'a.b': 2 }],
    ['a dot, below', { o: { 'a.b': 1, z: 0 } }, { so: { i: { 'a.b': 2 } } }, { o: { z: 0, 'a.b': 2 } }],
    ['digits', { o: { '0': 1 }, p: [1] }, { so: { u: { '0': 2 } }, sp: { a: true, u0: 2 } }, { o: { '0': 2 }, p: [2] }],
    ['a dollar', { $a: 1, b: 1 }, { i: { $a: '$b' } }, { b: 1, $a: '$b' }],
    ['nothing', { '': 1, b: 1 }, { i: { '': 2 } }, { b: 1, '': 2 }],
    ['the name of a section', { u: 1, i: 1, d: 1 }, { d: { d: false }, u: { i: 2 }, i: { u: 3 } }, { i: 2, u: 3 }],
  ])('takes names with %s as they are', (_what, before, diff, wanted) => {
    expect(after({ _id: 1, ...before }, exact(diff))).toBe(text({ _id: 1, ...wanted }));
  });

  it('fills arrays up with nulls', () => {
    expect(after({ _id: 1, list: [1] }, exact({ slist: { a: true, u3: 4 } }))).toBe(
      text({ _id: 1, list: [1, null, null, 4] }),
    );
  });

  it('appends more fields than one expression takes out', () => {
    const fields = fieldsOf(45);
    for (const [before, diff] of [
      [{ ...fields, last: 1 }, { i: fields }],
      [{ o: { ...fields, last: 1 } }, { so: { i: fields } }],
    ] as const) {
      const wanted = 'o' in before ? { o: { last: 1, ...fields } } : { last: 1, ...fields };
      expect(after({ _id: 1, ...before }, exact(diff))).toBe(text({ _id: 1, ...wanted }));
    }
  });

  it.each([
    ['of a later version', { $v: 3, diff: { u: { a: 1 } } }],
    ['without a diff', { $v: 2 }],
    ['of a column of a bucket', { $v: 2, diff: { sdata: { b: { a: { o: 1, d: 1 } } } } }],
    ['with an unknown section', { $v: 2, diff: { x: { a: 1 } } }],
    ['with an unknown change of an element', { $v: 2, diff: { slist: { a: true, x1: 1 } } }],
    ['of the _id', { $v: 2, diff: { u: { _id: 1 } } }],
    ['of more than 4 MB', { $v: 2, diff: { u: { a: 'x'.repeat(4 * 1024 * 1024) } } }],
    ['of more than 200 paths', { $v: 2, diff: { so: { i: fieldsOf(201) } } }],
  ])('%s is not replayed', (_what, description) => {
    expect(deltaOf(bytesOf(description))).toBeNull();
  });

  it('is replayed up to the depth that servers accept when a field moves', () => {
    const levelsOf = (value: unknown): number =>
      typeof value !== 'object' || value === null ? 0 : 1 + Math.max(0, ...Object.values(value).map(levelsOf));
    fc.assert(
      fc.property(fc.nat({ max: 60 }), (depth) => {
        let diff: Document = { i: { 'odd.name': 1 } };
        for (let level = 0; level < depth; level += 1) diff = { 'sodd.name': diff };
        const delta = described(diff);
        if (delta === null) expect(depth * 4).toBeGreaterThan(140);
        else expect(levelsOf(BSON.deserialize(deltaPipeline(delta)))).toBeLessThanOrEqual(187);
      }),
    );
  });

  it('touches the shard key with a field that it appends', () => {
    const key = [{ field: 'region', kind: 'range' as const }] as never[];
    expect(touchesKey(exact({ i: { region: 1 } }), key)).toBe(true);
    expect(touchesKey(exact({ i: { other: 1 } }), key)).toBe(false);
  });
});

describe('two diffs of one document', () => {
  const folded = (one: Document, other: Document): Delta => {
    const delta = mergeDeltas(exact(one), exact(other));
    if (delta === null) throw new Error('the deltas are two updates');
    return delta;
  };

  it.each([
    ['a field that is removed and comes again', { a: 1, b: 1 }, { d: { a: false } }, { i: { a: 2 } }, { b: 1, a: 2 }],
    ['a field that moves twice', { a: 1, b: 1 }, { i: { a: 2, b: 2 } }, { i: { a: 3 } }, { b: 2, a: 3 }],
    ['a field that comes and changes', { b: 1 }, { i: { a: 2, c: 2 } }, { u: { a: 3 } }, { b: 1, a: 3, c: 2 }],
    ['a field that changes and moves', { a: 1, b: 1 }, { u: { a: 2 } }, { i: { a: 3 } }, { b: 1, a: 3 }],
    ['a field that moves and goes', { a: 1, b: 1 }, { i: { a: 2 } }, { d: { a: false } }, { b: 1 }],
    [
      'the same in a document',
      { o: { a: 1, b: 1 } },
      { so: { d: { a: false } } },
      { so: { i: { a: 2 } } },
      { o: { b: 1, a: 2 } },
    ],
    [
      'the same in an element',
      { l: [{ a: 1, b: 1 }] },
      { sl: { a: true, s0: { d: { a: false } } } },
      { sl: { a: true, s0: { i: { a: 2 } } } },
      { l: [{ b: 1, a: 2 }] },
    ],
    [
      'a document that moves after a part of it',
      { o: { a: 1, b: 1 }, p: 1 },
      { so: { d: { a: false } } },
      { i: { o: { a: 5 } } },
      { p: 1, o: { a: 5 } },
    ],
    [
      'a whole field and a part',
      { o: { a: 1 }, p: 1 },
      { i: { o: { b: 1 } } },
      { so: { i: { a: 2 } } },
      { p: 1, o: { b: 1, a: 2 } },
    ],
  ])('are one update: %s', (_what, before, one, other, wanted) => {
    expect(after({ _id: 1, ...before }, folded(one, other))).toBe(text({ _id: 1, ...wanted }));
  });

  it.each([
    ['a field', { d: { a: false } }, { d: { a: false } }],
    ['a part', { so: { d: { a: false } } }, { so: { d: { a: false } } }],
  ])('stay two updates when both remove %s: the document repeats it', (_what, one, other) => {
    expect(mergeDeltas(exact(one), exact(other))).toBeNull();
  });
});

describe('operators for a document without the fields that come last', () => {
  it.each([
    ['new fields in the order of their names', exact({ i: { a: 1, b: 1 } }), true],
    ['new and updated fields', exact({ d: { c: false }, u: { z: 1 }, i: { a: 1 } }), true],
    ['new fields in another order', exact({ i: { b: 1, a: 1 } }), false],
    ['more fields than a filter asks for', exact({ i: fieldsOf(21) }), false],
    ['no new field', exact({ u: { a: 1 } }), false],
    ['new fields inside of another', exact({ so: { i: { a: 1 } } }), false],
    ['a field known to be there', mergeDeltas(exact({ u: { a: 1 } }), exact({ i: { a: 2 } })), false],
  ])('%s', (_what, delta, isFit) => {
    expect(delta !== null && needsAbsence(delta)).toBe(isFit);
  });
});
