import { Binary, BSONRegExp, Double, Int32, MaxKey, MinKey, ObjectId, Timestamp } from 'bson';
import { describe, expect, it } from 'vitest';
import { testSeed } from '../../../../../../test/seed.js';
import type { Doc, Value } from '../../../../src/bson/value.js';
import { encodeDocument } from '../../../../src/bson/encode.js';
import { ChunkMap } from '../../../../src/config/chunk-map.js';
import { type KeyValues, ShardKeyPattern } from '../../../../src/config/shard-key.js';
import type { ShardedCollection } from '../../../../src/config/sharded-collection.js';
import { doc } from '../../../../src/node/doc-fields.js';
import { compileMatcher } from '../../../../src/query/matcher.js';
import { targetQuery } from '../../../../src/router/target/query-targeting.js';

const time = new Timestamp({ t: 1, i: 0 });

/** A collection whose chunks lie on s0, s1, … in the order of its bounds. */
function collectionOf(key: Doc, bounds: readonly KeyValues[], defaultCollation?: Doc): ShardedCollection {
  const pattern = ShardKeyPattern.parse(key);
  const ends = [pattern.globalMin, ...bounds, pattern.globalMax];
  const chunks = ends
    .slice(1)
    .map((max, at) => ({ id: new ObjectId(), min: ends[at] ?? [], max, shard: `s${at}`, version: time, history: [] }));
  return {
    namespace: 'd.c',
    uuid: new Binary(new Uint8Array(16), 4),
    key: pattern,
    unique: false,
    defaultCollation,
    epoch: new ObjectId(),
    timestamp: time,
    changedMs: 0,
    noBalance: false,
    chunks: new ChunkMap(chunks),
  };
}

const int = (value: number): Int32 => new Int32(value);
const ranged = collectionOf(doc(['k', int(1)]), [[int(100)], [int(200)], [''], ['m']]);
const compound = collectionOf(doc(['a', int(1)], ['b', int(1)]), [
  [int(1), int(5)],
  [int(2), new MinKey()],
  [int(2), int(5)],
]);
const hashed = collectionOf(doc(['k', 'hashed']), [[int(0)]]);

function shardsFor(filter: Doc, collection = ranged, collation?: Doc): string {
  return targetQuery(collection, filter, collation).shards.join(' ');
}

describe('a filter on the shard key goes', () => {
  it('to the owners of a range, its open ends counted as closed', () => {
    expect(shardsFor(doc(['k', doc(['$gte', int(200)])]))).toBe('s2');
    expect(shardsFor(doc(['k', doc(['$gt', int(200)])]))).toBe('s2');
    expect(shardsFor(doc(['k', doc(['$lt', int(100)])]))).toBe('s0 s1');
    expect(shardsFor(doc(['k', doc(['$lt', int(99)])]))).toBe('s0');
    expect(shardsFor(doc(['k', doc(['$gte', int(100)], ['$lt', int(150)])]))).toBe('s1');
  });

  it('to the types that a comparison can match only', () => {
    expect(shardsFor(doc(['k', doc(['$gte', 'n'])]))).toBe('s4');
    expect(shardsFor(doc(['k', doc(['$lt', 'n'])]))).toBe('s3 s4');
    expect(shardsFor(doc(['k', doc(['$gte', new MinKey()])]))).toBe('s0 s1 s2 s3 s4');
  });

  it('to the owners of listed values, excluded ones and alternatives', () => {
    expect(shardsFor(doc(['k', doc(['$in', [int(1), 'x']])]))).toBe('s0 s4');
    expect(shardsFor(doc(['k', doc(['$in', [int(1), new BSONRegExp('^z', '')]])]))).toBe('s0 s4');
    expect(shardsFor(doc(['$or', [doc(['k', int(1)]), doc(['k', doc(['$gt', int(500)])])]]))).toBe('s0 s2');
    expect(shardsFor(doc(['$or', [doc(['k', int(1)]), doc(['x', int(1)])]]))).toBe('s0 s1 s2 s3 s4');
    expect(shardsFor(doc(['k', doc(['$not', doc(['$gte', int(150)])])]))).toBe('s0 s1 s2 s3 s4');
  });

  it('to the owners that all conditions agree on, the lowest chunk when there is none', () => {
    const both = [doc(['k', doc(['$gte', int(100)])]), doc(['k', doc(['$lte', int(120)])])];
    expect(shardsFor(doc(['$and', both]))).toBe('s1');
    expect(shardsFor(doc(['k', doc(['$gt', int(300)], ['$lt', int(10)])]))).toBe('s0');
  });

  it('by comparing expressions, which compare across types', () => {
    expect(shardsFor(doc(['$expr', doc(['$lt', ['$k', int(50)]])]))).toBe('s0');
    expect(shardsFor(doc(['$expr', doc(['$gte', [int(50), '$k']])]))).toBe('s0');
    expect(shardsFor(doc(['$expr', doc(['$gte', ['$k', int(300)]])]))).toBe('s2 s3 s4');
  });

  it('by leading fields of a compound key', () => {
    expect(shardsFor(doc(['a', int(1)]), compound)).toBe('s0 s1');
    expect(shardsFor(doc(['a', int(2)], ['b', doc(['$gt', int(7)])]), compound)).toBe('s3');
    expect(shardsFor(doc(['a', doc(['$gte', int(2)])]), compound)).toBe('s2 s3');
    expect(shardsFor(doc(['b', int(7)]), compound)).toBe('s0 s1 s2 s3');
  });

  it('everywhere for ranges of hashed keys and for strings under a collation', () => {
    expect(shardsFor(doc(['k', doc(['$gt', int(5)])]), hashed)).toBe('s0 s1');
    expect(shardsFor(doc(['k', doc(['$in', [int(5)]])]), hashed)).toMatch(/^s[01]$/);
    expect(shardsFor(doc(['k', doc(['$gte', 'n'])]), ranged, doc(['locale', 'en']))).toBe('s0 s1 s2 s3 s4');
    expect(shardsFor(doc(['k', doc(['$gte', int(300)])]), ranged, doc(['locale', 'en']))).toBe('s2');
  });

  it('everywhere for a list, which no shard key can be', () => {
    expect(shardsFor(doc(['k', [int(1)]]))).toBe('s0 s1 s2 s3 s4');
  });
});

describe('random filters', () => {
  it('go to every shard that holds a match', () => {
    let state = testSeed;
    const below = (limit: number): number => {
      state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
      return Math.floor((state / 0x80000000) * limit);
    };
    const values: readonly Value[] = [
      null,
      int(-5),
      int(1),
      int(2),
      int(5),
      int(100),
      int(150),
      int(200),
      new Double(Number.NaN),
      new Double(Infinity),
      '',
      'a',
      'm',
      'mz',
      new Map(),
      doc(['x', int(1)]),
      true,
      false,
      new Timestamp({ t: 5, i: 1 }),
      new BSONRegExp('^m', ''),
      new MinKey(),
      new MaxKey(),
      new ObjectId(),
    ];
    const value = (): Value => values[below(values.length)] ?? null;
    const operators = ['$eq', '$gt', '$gte', '$lt', '$lte', '$ne', '$in', '$nin', '$not'];
    const condition = (plain = false): Doc => {
      const operator = operators[below(plain ? 5 : operators.length)] ?? '$eq';
      if (operator === '$in' || operator === '$nin') return doc([operator, [value(), value()]]);
      if (operator === '$not') return doc([operator, condition(true)]);
      let operand = value();
      while (operand instanceof BSONRegExp) operand = value();
      return doc([operator, operand]);
    };
    const filter = (depth: number): Doc => {
      const kind = below(depth > 0 ? 5 : 2);
      if (kind === 4) return doc(['$and', [filter(depth - 1), filter(depth - 1)]]);
      if (kind === 3) return doc(['$or', [filter(depth - 1), filter(depth - 1)]]);
      if (kind === 2) return doc(['a', condition()], ['b', condition()]);
      return doc([kind === 0 ? 'a' : 'b', condition()]);
    };
    const simpleKey = collectionOf(doc(['a', int(1)]), [[int(2)], [int(150)], ['a'], ['mz'], [true]]);
    for (let round = 0; round < 4000; round += 1) {
      const collection = below(2) === 0 ? simpleKey : compound;
      const wanted = filter(2);
      const matches = compileMatcher(wanted);
      const { shards } = targetQuery(collection, wanted, undefined);
      for (let each = 0; each < 20; each += 1) {
        const document = doc(['a', value()], ['b', value()]);
        if (!matches(document)) continue;
        const owner = collection.chunks.holderOf(collection.key.keyOf(encodeDocument(document)));
        if (owner === undefined) continue;
        expect(
          shards,
          `seed ${testSeed}: ` +
            JSON.stringify([...wanted], (_, part: unknown) => (part instanceof Map ? [...part] : part)),
        ).toContain(owner);
      }
    }
  });
});

describe('a filter fixes a shard key inside of `_id`', () => {
  const inside = collectionOf(doc(['_id.x', int(1)], ['k', int(1)]), [[int(5), new MinKey()]]);
  const isExact = (...fields: [string, Value][]): boolean => targetQuery(inside, doc(...fields), undefined).exactKey;

  // 5.0.7 refuses upserts with the other filters (61).
  it('by the whole value of `_id`, not beside it, and not if it has no such field', () => {
    const id = doc(['x', int(7)]);
    expect(isExact(['k', int(1)], ['_id', id])).toBe(true);
    expect(shardsFor(doc(['k', int(1)], ['_id', id]), inside)).toBe('s1');
    expect(isExact(['_id.x', int(7)], ['k', int(1)])).toBe(true);
    expect(isExact(['_id.x', int(7)], ['k', int(1)], ['_id', id])).toBe(false);
    expect(isExact(['k', int(1)], ['_id', doc(['y', int(7)])])).toBe(false);
    expect(isExact(['k', int(1)], ['_id', int(7)])).toBe(false);
  });

  it('nor by a part of a value that the key has whole', () => {
    const whole = collectionOf(doc(['a', int(1)]), []);
    expect(targetQuery(whole, doc(['a.b', int(1)]), undefined).exactKey).toBe(false);
  });
});

describe('a value that no query states exactly', () => {
  it.each<Value>([
    new BSONRegExp('^a', ''),
    doc(['$gt', 'a']),
    doc(['a', doc(['$gt', 'a'])]),
    doc(['a', [doc(['$x', int(1)])]]),
    doc(['$id', int(1)]),
  ])('goes to one shard by its bounds: %j', (value) => {
    const filter = doc(['k', doc(['$eq', value])]);
    expect(targetQuery(ranged, filter, undefined)).toEqual({ shards: ['s4'], exactKey: false });
    expect(targetQuery(hashed, filter, undefined)).toMatchObject({ exactKey: false });
    expect(targetQuery(hashed, filter, undefined).shards).toHaveLength(1);
  });

  it.each<Value>([
    doc(['$ref', 'x'], ['$id', int(1)]),
    doc(['$ref', 'x'], ['$id', doc(['$gt', int(1)])], ['$db', 'y']),
    doc(['a', new BSONRegExp('^a', '')]),
  ])('is none of: %j', (value) => {
    expect(targetQuery(ranged, doc(['k', value]), undefined)).toEqual({ shards: ['s4'], exactKey: true });
  });
});
