import { BSON } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { buildSpecification, indexObstacle, portableIndex } from '../../../src/catalog/index-spec.js';

describe('portableIndex', () => {
  it.each([[true, 1], [0, 1], ['', 1], ['asc', 1], [Number.NaN, 1], [-1, -1], [2.5, 2.5], ['hashed', 'hashed'], ['2dsphere', '2dsphere']])(
    'turns the direction %s into %s',
    (direction, expected) => {
      expect(portableIndex('d.c', { v: 2, key: { a: direction }, name: 'a' }).index.key).toEqual({ a: expected });
    },
  );

  it('warns of what it changes and stays silent about what says nothing', () => {
    const names = (index: object): string[] => portableIndex('d.c', { v: 2, key: { a: 1 }, name: 'a', ...index }).warnings.map((one) => one.name);
    expect(names({ ns: 'd.c', background: true, dropDups: true, sparse: false, unique: 0 })).toEqual([]);
    expect(names({ v: 1 })).toEqual(['indexVersionRaised']);
    expect(names({ key: { a: true } })).toEqual(['indexDirectionNormalised']);
    expect(names({ storageEngine: {} })).toEqual(['indexAttributeDropped']);
    expect(names({ expireAfterSeconds: Number.NaN })).toEqual(['ttlNormalised']);
  });

  it('reads flags that old servers kept as numbers', () => {
    expect(portableIndex('d.c', { key: { a: 1 }, name: 'a', unique: 1, sparse: 0 }).index).toEqual({ key: { a: 1 }, name: 'a', unique: true });
  });

  it('has no other TTL than the server understands', () => {
    const ttl = (expireAfterSeconds: unknown): unknown => portableIndex('d.c', { key: { a: 1 }, name: 'a', expireAfterSeconds }).index.expireAfterSeconds;
    expect([60, 60.7, -1, Number.NaN, BSON.Long.MAX_VALUE].map(ttl)).toEqual([60, 60, 2_147_483_647, 2_147_483_647, 2_147_483_647]);
  });
});

describe('buildSpecification', () => {
  it('switches a TTL off with the greatest value that createIndexes takes', () => {
    const off = { key: { t: 1 }, name: 't', expireAfterSeconds: 2_147_483_647 };
    expect(buildSpecification(off, undefined, 1_800_000_000.5).expireAfterSeconds).toBe(1_799_913_600);
    expect(buildSpecification({ ...off, expireAfterSeconds: 60 }, undefined, 1_800_000_000).expireAfterSeconds).toBe(60);
  });

  it('says the simple collation only where the collection has another', () => {
    const index = { key: { a: 1 }, name: 'a' };
    expect(buildSpecification(index, { locale: 'fr' }, 0).collation).toEqual({ locale: 'simple' });
    expect(buildSpecification({ ...index, collation: { locale: 'de' } }, { locale: 'fr' }, 0).collation).toEqual({ locale: 'de' });
    expect(buildSpecification(index, undefined, 0)).not.toHaveProperty('collation');
  });

  it('names the fields of a text index at their place', () => {
    const text = { key: { before: 1, _fts: 'text', _ftsx: 1, after: 1 }, name: 't', weights: { x: 1, y: 2 } };
    expect(Object.entries(buildSpecification(text, undefined, 0).key as object)).toEqual([['before', 1], ['x', 'text'], ['y', 'text'], ['after', 1]]);
    const numeric = { ...text, weights: { 7: 1 } };
    expect(buildSpecification(numeric, undefined, 0).key).toEqual(text.key);
  });
});

describe('indexObstacle', () => {
  it('finds what no destination can hold in the right order', () => {
    expect(indexObstacle({ key: { a: 1, b: 1 } })).toBeNull();
    expect(indexObstacle({ key: { 0: 1 } })).toBeNull();
    expect(indexObstacle({ key: { a: 1, 10: 1 } })).not.toBeNull();
    expect(indexObstacle({ key: { a: 1, '01': 1 } })).toBeNull();
    expect(indexObstacle({ key: { g: 'geoHaystack', t: 1 } })).not.toBeNull();
  });
});
