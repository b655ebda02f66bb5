import { BSON } from 'mongodb';
import { describe, expect, it } from 'vitest';
import type { KeyPattern } from '../../../src/catalog/namespace.js';
import { decodeIndex } from '../../../src/catalog/catalog-bytes.js';
import { buildSpecification, indexObstacle, portableIndex } from '../../../src/catalog/index-spec.js';
import { indexAsRead, keyPattern } from './as-read.js';

describe('portableIndex', () => {
  it.each([
    [true, 1],
    [0, 1],
    ['', 1],
    ['asc', 1],
    [Number.NaN, 1],
    [-1, -1],
    [2.5, 2.5],
    ['hashed', 'hashed'],
    ['2dsphere', '2dsphere'],
  ])('turns the direction %s into %s', (direction, expected) => {
    expect(portableIndex('d.c', indexAsRead({ v: 2, key: { a: direction }, name: 'a' })).index.key).toEqual(
      keyPattern({ a: expected }),
    );
  });

  it('warns of what it changes, and not of attributes without meaning', () => {
    const names = (index: object): string[] =>
      portableIndex('d.c', indexAsRead({ v: 2, key: { a: 1 }, name: 'a', ...index })).warnings.map((one) => one.name);
    expect(names({ ns: 'd.c', background: true, dropDups: true, sparse: false, unique: 0 })).toEqual([]);
    expect(names({ v: 1 })).toEqual(['indexVersionRaised']);
    expect(names({ key: { a: true } })).toEqual(['indexDirectionNormalised']);
    expect(names({ storageEngine: {} })).toEqual(['indexAttributeDropped']);
    expect(names({ expireAfterSeconds: Number.NaN })).toEqual(['ttlNormalised']);
  });

  it('reads flags that old servers stored as numbers', () => {
    expect(portableIndex('d.c', indexAsRead({ key: { a: 1 }, name: 'a', unique: 1, sparse: 0 })).index).toEqual({
      key: keyPattern({ a: 1 }),
      name: 'a',
      unique: true,
    });
  });

  it('allows only a TTL that the server understands', () => {
    const ttl = (expireAfterSeconds: unknown): unknown =>
      portableIndex('d.c', indexAsRead({ key: { a: 1 }, name: 'a', expireAfterSeconds })).index.expireAfterSeconds;
    expect([60, 60.7, -1, Number.NaN, BSON.Long.MAX_VALUE].map(ttl)).toEqual([
      60, 60, 2_147_483_647, 2_147_483_647, 2_147_483_647,
    ]);
  });
});

describe('buildSpecification', () => {
  it('disables a TTL with the greatest value that createIndexes accepts', () => {
    const off = indexAsRead({ key: { t: 1 }, name: 't', expireAfterSeconds: 2_147_483_647 });
    expect(buildSpecification(off, undefined, 1_800_000_000.5).expireAfterSeconds).toBe(1_799_913_600);
    expect(buildSpecification({ ...off, expireAfterSeconds: 60 }, undefined, 1_800_000_000).expireAfterSeconds).toBe(
      60,
    );
  });

  it('specifies the simple collation only if the collection has another', () => {
    const index = indexAsRead({ key: { a: 1 }, name: 'a' });
    expect(buildSpecification(index, { locale: 'fr' }, 0).collation).toEqual({ locale: 'simple' });
    expect(buildSpecification({ ...index, collation: { locale: 'de' } }, { locale: 'fr' }, 0).collation).toEqual({
      locale: 'de',
    });
    expect(buildSpecification(index, undefined, 0)).not.toHaveProperty('collation');
  });

  it('names the fields of a text index at their position', () => {
    const weights = new Map([
      ['x', 1],
      ['7', 2],
    ]);
    const text = indexAsRead({ key: { before: 1, _fts: 'text', _ftsx: 1, after: 1 }, name: 't', weights });
    expect([...(buildSpecification(text, undefined, 0).key as KeyPattern)]).toEqual([
      ['before', 1],
      ['x', 'text'],
      ['7', 'text'],
      ['after', 1],
    ]);
  });
});

describe('indexObstacle', () => {
  it('finds what no destination can have, or the driver cannot write', () => {
    const beyond = Buffer.from(BSON.serialize({ key: { a: 1 }, partialFilterExpression: { d: new Date(0) } }));
    beyond.writeBigInt64LE(2n ** 62n, beyond.length - 10);
    const invalid = Buffer.from(BSON.serialize({ key: { a: 1 } }));
    invalid[invalid.indexOf('a')] = 0xff;
    expect(
      indexObstacle(
        indexAsRead({
          key: new Map([
            ['b', 1],
            ['10', 1],
          ]),
        }),
      ),
    ).toBeNull();
    expect(indexObstacle(indexAsRead({ key: { g: 'geoHaystack', t: 1 } }))).toMatch(/4\.4/);
    expect(indexObstacle(decodeIndex(beyond))).toMatch(/cannot send/);
    expect(indexObstacle(decodeIndex(invalid))).toMatch(/not valid UTF-8/);
  });
});
