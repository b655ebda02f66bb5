import { BSON, type Document } from 'mongodb';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeDocument } from '@convoy/simulator/internal/bson/decode';
import { encodeDocument } from '@convoy/simulator/internal/bson/encode';
import { applyUpdate } from '@convoy/simulator/internal/update/apply';
import { changedDocument, mergeDeltas } from '../../../src/apply/action.js';
import { type Delta, deltaOf } from '../../../src/apply/delta.js';
import { elementType } from '../../../src/bson/element-type.js';
import { bytesOf } from '../model/parts.js';
import { deltaUpdate } from './delta-pipeline.js';

function exact(diff: Document): Delta {
  const delta = deltaOf(bytesOf({ $v: 2, diff }));
  if (delta === null) throw new Error('the delta is not exact');
  return delta;
}

function folded(...diffs: Document[]): Delta {
  const [first, ...others] = diffs.map(exact);
  return others.reduce((earlier, later) => {
    const both = mergeDeltas(earlier, later);
    if (both === null) throw new Error('the deltas stay apart');
    return both;
  }, first as Delta);
}

/** The operators that are sent; null for a pipeline. */
function operatorsOf(delta: Delta): Document | null {
  const { type, bytes } = deltaUpdate(delta);
  return type === elementType.array ? null : BSON.deserialize(bytes);
}

describe('fields and elements that are there', () => {
  it.each([
    ['a field of a document', [{ so: { u: { a: 1 } } }], { $set: { 'o.a': 1 } }],
    ['a field two documents deep', [{ so: { sp: { u: { a: 1 } } } }], { $set: { 'o.p.a': 1 } }],
    ['an element', [{ sl: { a: true, u2: 1 } }], { $set: { 'l.2': 1 } }],
    ['a field of an element', [{ sl: { a: true, s0: { u: { a: 1 } } } }], { $set: { 'l.0.a': 1 } }],
    ['a field named like an element', [{ so: { u: { 0: 1 } } }], { $set: { 'o.0': 1 } }],
    ['several, in any order', [{ u: { z: 1 }, so: { u: { b: 1, a: 2 } } }], { $set: { z: 1, 'o.b': 1, 'o.a': 2 } }],
    ['a removed field', [{ so: { d: { a: false }, u: { b: 1 } } }], { $set: { 'o.b': 1 }, $unset: { 'o.a': '' } }],
    ['nothing but a removed field', [{ so: { d: { a: false } } }], { $unset: { 'o.a': '' } }],
    ['a field that is set twice', [{ so: { u: { a: 1 } } }, { so: { u: { a: 2 } } }], { $set: { 'o.a': 2 } }],
    ['neighbours by name', [{ u: { 'o-a': 1 } }, { so: { u: { a: 2 } } }], { $set: { 'o-a': 1, 'o.a': 2 } }],
  ])('are sent as operators: %s', (_what, diffs, wanted) => {
    expect(operatorsOf(folded(...diffs))).toEqual(wanted);
  });

  it.each([
    ['a field that comes last', [{ so: { i: { a: 1 } } }]],
    ['a truncated array', [{ sl: { a: true, l: 1 } }]],
    ['a name with a dot', [{ so: { u: { 'a.b': 1 } } }]],
    ['a name with a $', [{ so: { u: { $a: 1 } } }]],
    ['a name without a letter', [{ so: { u: { '': 1 } } }]],
    ['a whole document and its field', [{ u: { o: { a: 0 } } }, { so: { u: { a: 1 } } }]],
    ['a field and its whole document', [{ so: { u: { a: 1 } } }, { u: { o: { a: 0 } } }]],
    ['a new field that is set again', [{ so: { i: { a: 1 } } }, { so: { u: { a: 2 } } }]],
  ])('are sent as a pipeline: %s', (_what, diffs) => {
    expect(operatorsOf(folded(...diffs))).toBeNull();
  });

  it('are not known by a description of paths, which stays a pipeline', () => {
    const delta = deltaOf(
      bytesOf({
        updatedFields: { 'o.b': 1, 'o.a': 1 },
        removedFields: [],
        truncatedArrays: [],
        disambiguatedPaths: { 'o.b': ['o', 'b'], 'o.a': ['o', 'a'] },
      }),
    );
    expect(delta === null ? 'not exact' : operatorsOf(delta)).toBeNull();
  });
});

/** A value with the diff of what a user changes in it; null for no change. */
interface Changed {
  value: unknown;
  diff: Document | null;
}

const leaf = fc.oneof(fc.integer(), fc.constant(null), fc.string({ maxLength: 3 }));
const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'ab', 'a-', '0', '1', '10', 'x'), { maxLength: 5 });

const { changed } = fc.letrec<{ changed: Changed }>((tie) => {
  const part = fc.record({
    inner: fc.oneof(
      { depthSize: 'small' },
      leaf.map((value): Changed => ({ value, diff: null })),
      tie('changed'),
    ),
    change: fc.constantFrom('keep', 'set', 'remove', 'into'),
    next: leaf,
  });
  const document = fc.tuple(names, fc.array(part, { minLength: 5, maxLength: 5 })).map(([some, parts]): Changed => {
    const [value, diff, u, d]: [Document, Document, Document, Document] = [{}, {}, {}, {}];
    for (const [at, name] of some.entries()) {
      const { inner, change, next } = parts[at] ?? { inner: { value: 0, diff: null }, change: 'keep', next: 0 };
      value[name] = inner.value;
      if (change === 'set') u[name] = next;
      else if (change === 'remove') d[name] = false;
      else if (change === 'into' && inner.diff !== null) diff[`s${name}`] = inner.diff;
    }
    if (Object.keys(u).length > 0) diff['u'] = u;
    if (Object.keys(d).length > 0) diff['d'] = d;
    return { value, diff: Object.keys(diff).length > 0 ? diff : null };
  });
  const array = fc
    .tuple(fc.array(part, { maxLength: 12 }), fc.array(leaf, { maxLength: 2 }))
    .map(([parts, more]): Changed => {
      const diff: Document = { a: true };
      for (const [at, { inner, change, next }] of parts.entries()) {
        if (change === 'set') diff[`u${at}`] = next;
        else if (change === 'into' && inner.diff !== null) diff[`s${at}`] = inner.diff;
      }
      for (const [at, next] of more.entries()) diff[`u${parts.length + at}`] = next;
      return { value: parts.map(({ inner }) => inner.value), diff: Object.keys(diff).length > 1 ? diff : null };
    });
  return { changed: fc.oneof(document, array) };
});

it('operators give the document of the source, byte for byte', () => {
  let sent = 0;
  fc.assert(
    fc.property(fc.array(changed, { minLength: 1, maxLength: 3 }), (parts) => {
      const document: Document = { _id: 1 };
      const diff: Document = {};
      for (const [at, { value, diff: inner }] of parts.entries()) {
        document[`f${at}`] = value;
        if (inner !== null) diff[`sf${at}`] = inner;
      }
      if (Object.keys(diff).length === 0) return;
      const delta = exact(diff);
      const { type, bytes } = deltaUpdate(delta);
      expect(type).toBe(elementType.document);
      sent += 1;
      const after = applyUpdate(decodeDocument(bytesOf(document)), decodeDocument(bytes)).after;
      const wanted = changedDocument(bytesOf(document), delta) ?? new Uint8Array();
      expect(Buffer.from(encodeDocument(after)).toString('hex')).toBe(Buffer.from(wanted).toString('hex'));
    }),
  );
  expect(sent).toBeGreaterThan(20);
});
