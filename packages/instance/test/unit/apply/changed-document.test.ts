import { BSON, type Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { changedDocument } from '../../../src/apply/changed-document.js';
import { exactDelta } from '../../../src/apply/delta.js';
import { bytesOf } from '../model/parts.js';

function changed(document: Document, updatedFields: Document, removedFields: string[] = []): [string, unknown][] | null {
  const delta = exactDelta(bytesOf({ updatedFields, removedFields, truncatedArrays: [], disambiguatedPaths: {} }));
  const after = delta === null ? null : changedDocument(bytesOf(document), delta);
  return after === null ? null : (Object.entries(BSON.deserialize(after)) as [string, unknown][]);
}

describe('a document on its way that is changed', () => {
  it('fields keep their place, and new ones come last', () => {
    expect(changed({ _id: 1, z: 1, a: 2 }, { b: 4, z: 3 })).toEqual([['_id', 1], ['z', 3], ['a', 2], ['b', 4]]);
  });

  it('fields that are removed are gone, and inner ones change where they are', () => {
    expect(changed({ _id: 1, z: 1, n: { x: 1, y: 2 } }, { 'n.x': 5 }, ['z'])).toEqual([['_id', 1], ['n', { x: 5, y: 2 }]]);
  });

  it('is left alone when a path leads nowhere in it', () => {
    expect(changed({ _id: 1, n: 7 }, { 'n.x': 5 })).toBeNull();
  });
});
