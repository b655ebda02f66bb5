import { BSON, type Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { changedDocument } from '../../../src/apply/action.js';
import { deltaOf } from '../../../src/apply/delta.js';
import { DocumentBuilder } from '../../../src/bson/build.js';
import { elementType } from '../../../src/bson/element-type.js';
import { bytesOf } from '../model/parts.js';

function changed(
  document: Document,
  updatedFields: Document,
  removedFields: string[] = [],
): [string, unknown][] | null {
  const delta = deltaOf(bytesOf({ updatedFields, removedFields, truncatedArrays: [], disambiguatedPaths: {} }));
  const after = delta === null ? null : changedDocument(bytesOf(document), delta);
  return after === null ? null : (Object.entries(BSON.deserialize(after)) as [string, unknown][]);
}

describe('a delta on a whole document', () => {
  it('keeps the position of fields and adds new ones last', () => {
    expect(changed({ _id: 1, z: 1, a: 2 }, { b: 4, z: 3 })).toEqual([
      ['_id', 1],
      ['z', 3],
      ['a', 2],
      ['b', 4],
    ]);
  });

  it('removes fields and changes embedded ones in place', () => {
    expect(changed({ _id: 1, z: 1, n: { x: 1, y: 2 } }, { 'n.x': 5 }, ['z'])).toEqual([
      ['_id', 1],
      ['n', { x: 5, y: 2 }],
    ]);
  });

  it('keeps the bytes of names that are not UTF-8, and distinguishes them', () => {
    const [first, second] = ['a\udcff', 'a\udcfe'] as const;
    const before = new DocumentBuilder().int32('_id', 1).int32(first, 1).int32(second, 1).finish();
    const delta = deltaOf(new DocumentBuilder().begin('updatedFields').int32(second, 2).end().finish());
    const after = delta === null ? null : changedDocument(before, delta);
    expect(after).toEqual(new DocumentBuilder().int32('_id', 1).int32(first, 1).int32(second, 2).finish());
    expect(Buffer.from(after ?? []).includes(Buffer.of(0x61, 0xfe, 0))).toBe(true);
  });

  it('changes array elements by position, whatever their names', () => {
    const list = (third: number): Buffer => new DocumentBuilder().int32('x', 1).int32('', 2).int32('x', third).finish();
    const delta = deltaOf(bytesOf({ updatedFields: { 'list.2': 7 }, disambiguatedPaths: {} }));
    const before = new DocumentBuilder().document('list', list(3), elementType.array).finish();
    expect(delta === null ? null : changedDocument(before, delta)).toEqual(
      new DocumentBuilder().document('list', list(7), elementType.array).finish(),
    );
  });

  it.each([
    ['sets', new DocumentBuilder().begin('updatedFields').int32('a', 5).end()],
    ['removes', new DocumentBuilder().begin('removedFields', elementType.array).string('0', 'a').end()],
  ])('does not apply when it %s a field that the document repeats', (_what, description) => {
    const before = new DocumentBuilder().int32('_id', 1).int32('a', 1).int32('a', 2).finish();
    const delta = deltaOf(description.finish());
    expect(delta).not.toBeNull();
    expect(delta === null ? before : changedDocument(before, delta)).toBeNull();
  });

  it('does not apply when it changes a part of a field that the document repeats', () => {
    const before = new DocumentBuilder().begin('n').int32('x', 1).end().begin('n').int32('x', 2).end().finish();
    const delta = deltaOf(bytesOf({ updatedFields: { 'n.x': 5 }, disambiguatedPaths: {} }));
    expect(delta).not.toBeNull();
    expect(delta === null ? before : changedDocument(before, delta)).toBeNull();
  });

  it('does not apply when a path leads nowhere', () => {
    expect(changed({ _id: 1, n: 7 }, { 'n.x': 5 })).toBeNull();
  });
});
