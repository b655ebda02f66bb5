import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { BSON, BSONRegExp, Long, MaxKey, MinKey, type Document } from 'mongodb';
import { describe, expect, test, it } from 'vitest';
import { hashValue } from '../../../src/bson/hash.js';
import { decodeValue, encodeValue, nullValue } from '../../../src/bson/scan.js';
import {
  ChunkMap,
  fullKeyFilter,
  shardKeyFields,
  shardKeyOf,
  upsertStatesKey,
  HashedRanges,
} from '../../../src/bson/shard-key.js';
import { chunkOf, keyPattern } from '../catalog/as-read.js';

const ranged = shardKeyFields(keyPattern({ a: 1, 'b.c': 1 }));
const hashed = shardKeyFields(keyPattern({ h: 'hashed' }));

describe('the shard key of a document', () => {
  test('reads dotted fields by path, and null for missing ones', () => {
    const key = shardKeyOf(BSON.serialize({ b: { c: 'x' } }), ranged);
    expect(key.map(decodeValue)).toEqual([null, 'x']);
    expect(shardKeyOf(BSON.serialize({ a: 1, b: 2 }), ranged)[1]).toBe(nullValue);
  });

  test('of a change event has dotted fields under their full name', () => {
    const key = shardKeyOf(BSON.serialize({ a: 'y', 'b.c': 'x', _id: 1 }), ranged, 'documentKey');
    expect(key.map(decodeValue)).toEqual(['y', 'x']);
  });

  test('has hashes as 64-bit integers', () => {
    expect(shardKeyOf(BSON.serialize({ h: 5 }), hashed).map(decodeValue)).toEqual([
      Long.fromString('4470791281878691347'),
    ]);
  });
});

describe('the filter of a full key', () => {
  test('contains plain values, the shard key first and the _id once', () => {
    const document = BSON.serialize({ _id: { x: 1 }, a: 'y', b: { c: [] } });
    expect(BSON.deserialize(fullKeyFilter(document, ranged, encodeValue({ x: 1 })))).toEqual({
      a: 'y',
      'b.c': [],
      _id: { x: 1 },
    });
    const byId = shardKeyFields(keyPattern({ _id: 'hashed' }));
    expect(BSON.deserialize(fullKeyFilter(document, byId, encodeValue({ x: 1 })))).toEqual({ _id: { x: 1 } });
  });

  test('leaves to _id what is inside of it, because routers refuse filters with both', () => {
    const key = shardKeyFields(keyPattern({ '_id.x': 1, 'b.c': 1, '_id.y': 'hashed' }));
    const document = BSON.serialize({ _id: { x: 1, y: 2 }, b: { c: 3 } });
    const filter = { 'b.c': 3, _id: { x: 1, y: 2 } };
    expect(BSON.deserialize(fullKeyFilter(document, key, encodeValue(filter._id)))).toEqual(filter);
    const documentKey = BSON.serialize({ '_id.x': 1, 'b.c': 3, '_id.y': 2, _id: filter._id });
    const ofEvent = fullKeyFilter(documentKey, key, encodeValue(filter._id), 'documentKey');
    expect(BSON.deserialize(ofEvent)).toEqual(filter);
    expect(upsertStatesKey(document, key)).toBe(true);
  });

  test.each([1, { x: 1 }])('cannot be made by an upsert where a field inside of _id is missing: %j', (_id) => {
    const key = shardKeyFields(keyPattern({ '_id.x': 1, '_id.y': 1 }));
    expect(upsertStatesKey(BSON.serialize({ _id, y: 1 }), key)).toBe(false);
    expect(upsertStatesKey(BSON.serialize({ _id: { x: null, y: null } }), key)).toBe(true);
  });

  test.each([{ _id: 1 }, { _id: 1, h: null }])(
    'matches a missing field by null, and never undefined, which equals null on servers before 8.0: %j',
    (document) => {
      const filter = fullKeyFilter(BSON.serialize(document), hashed, encodeValue(1));
      expect(BSON.deserialize(filter)).toEqual({ h: { $eq: null, $not: { $type: 6 } }, _id: 1 });
    },
  );

  test('matches undefined by its type, since no query may contain it', () => {
    const document = Buffer.from(BSON.serialize({ _id: 1, a: null, b: { c: 2 } }));
    document[document.indexOf(Buffer.from('\x0aa\0'))] = 0x06;
    expect(BSON.deserialize(fullKeyFilter(document, ranged, encodeValue(1)))).toEqual({
      a: { $type: 6 },
      'b.c': 2,
      _id: 1,
    });
    expect([upsertStatesKey(document, ranged), upsertStatesKey(document, hashed)]).toEqual([false, true]);
  });

  test.each([new BSONRegExp('^a', ''), { $gt: 'a' }, { $id: 1 }])(
    'holds what looks like a condition as a value: %j',
    (h) => {
      const document = BSON.serialize({ _id: 1, h });
      expect(BSON.deserialize(fullKeyFilter(document, hashed, encodeValue(1)), { bsonRegExp: true })).toEqual({
        h: { $eq: h },
        _id: 1,
      });
      expect(upsertStatesKey(document, hashed)).toBe(false);
    },
  );

  test('holds references as they are', () => {
    const reference = { $ref: 'x', $id: 1 };
    const document = BSON.serialize({ _id: reference, h: reference });
    expect(fullKeyFilter(document, hashed, encodeValue(reference))).toEqual(
      Buffer.from(BSON.serialize({ h: reference, _id: reference })),
    );
    expect(upsertStatesKey(document, hashed)).toBe(true);
  });
});

describe('the owners of chunks', () => {
  test('of a compound key', () => {
    const key = shardKeyFields(keyPattern({ a: 1, b: 1 }));
    const min = { a: new MinKey(), b: new MinKey() };
    const middle = { a: 5, b: new MinKey() };
    const within = { a: 5, b: 'm' };
    const max = { a: new MaxKey(), b: new MaxKey() };
    const map = new ChunkMap(key, [
      chunkOf(within, max, 's2'),
      chunkOf(min, middle, 's0'),
      chunkOf(middle, within, 's1'),
    ]);
    const ownerOf = (document: Document) => map.ownerOf(BSON.serialize(document));
    expect(ownerOf({ a: 4, b: 'z' })).toBe('s0');
    expect(ownerOf({ a: 5 })).toBe('s1');
    expect(ownerOf({ a: Long.fromNumber(5), b: 'l' })).toBe('s1');
    expect(ownerOf({ a: 5, b: 'm' })).toBe('s2');
    expect(ownerOf({ a: new Date() })).toBe('s2');
    expect(ownerOf({})).toBe('s0');
    expect(map.owns(BSON.serialize({}), 's0')).toBe(true);
    expect(map.owns(BSON.serialize({}), 's2')).toBe(false);
  });

  test('of a hashed key whose bounds are small numbers are found by the hash itself', () => {
    const hashOf = (id: number) => hashValue(encodeValue(id));
    const bounds: [unknown, string][] = [
      [new MinKey(), 's0'],
      [Long.fromBigInt(-(2n ** 62n)), 's1'],
      [0, 's2'],
      [Long.fromBigInt(2n ** 62n), 's3'],
    ];
    const map = new ChunkMap(
      hashed,
      bounds.map(([h, shard], position) => chunkOf({ h }, { h: bounds[position + 1]?.[0] ?? new MaxKey() }, shard)),
    );
    for (let id = 0; id < 500; id += 1) {
      const hash = hashOf(id);
      const expected = hash < -(2n ** 62n) ? 's0' : hash < 0n ? 's1' : hash < 2n ** 62n ? 's2' : 's3';
      expect(map.ownerOf(BSON.serialize({ h: id })), String(id)).toBe(expected);
    }
  });

  test("whose bounds are dates beyond JavaScript's, or documents with numeric names", () => {
    const date = (ms: bigint): Buffer => {
      const bytes = Buffer.from(BSON.serialize({ a: new Date(0) }));
      bytes.writeBigInt64LE(ms, bytes.length - 9);
      return bytes;
    };
    const place = (region: string): Uint8Array =>
      BSON.serialize({
        a: new Map<string, unknown>([
          ['region', region],
          ['2024', 1],
        ]),
      });
    const bounds: [Uint8Array, string][] = [
      [BSON.serialize({ a: new MinKey() }), 's0'],
      [place('m'), 's1'],
      [date(2n ** 62n), 's2'],
      [date(2n ** 62n + 1n), 's3'],
    ];
    const map = new ChunkMap(
      shardKeyFields(keyPattern({ a: 1 })),
      bounds.map(([min, shard]) => ({ min, shard })),
    );
    const documents = [place('l'), place('n'), date(2n ** 62n - 1n), date(2n ** 62n), date(2n ** 62n + 1n)];
    expect(documents.map((document) => map.ownerOf(document))).toEqual(['s0', 's1', 's1', 's2', 's3']);
  });

  test('need at least one chunk', () => expect(() => new ChunkMap(hashed, [])).toThrow(RangeError));

  test('of a hashed key are those that a real cluster chose', () => {
    const steps = readFileSync(new URL('../../corpus/09-shard-key-hashes.jsonl', import.meta.url), 'utf8')
      .trim()
      .split('\n')
      .map((line) => BSON.EJSON.parse(line, { relaxed: false }) as Document);
    const step = (number: number) => steps.find((candidate) => Number(candidate['step']) === number) as Document;
    const batch = (number: number) =>
      (step(number)['reply'] as { cursor: { firstBatch: Document[] } }).cursor.firstBatch;
    const chunks = (batch(48) as { min: Document; max: Document; shard: string }[]).filter(({ min }) => 'h' in min);
    const map = new ChunkMap(
      hashed,
      chunks.map(({ min, max, shard }) => chunkOf(min, max, shard)),
    );
    const inserted = [...(step(44)['command'] as { documents: Document[] }).documents, { _id: 'missing' }];
    const byShard = (shard: string) =>
      inserted.filter((document) => map.owns(BSON.serialize(document), shard)).map(({ _id }) => String(_id));
    for (const [shard, number] of [
      ['shard0', 46],
      ['shard1', 47],
    ] as const) {
      expect(byShard(shard)).toEqual(batch(number).map(({ _id }) => String(_id)));
    }
  });
});

const halvesOf = (hash: bigint) => ({ high: Number(hash >> 32n), low: Number(hash & 0xffff_ffffn) });

/** The last range whose lower bound is at most the hash, by linear search. */
function slowly(lowest: readonly bigint[], hash: bigint): number {
  return Math.max(
    0,
    lowest.findLastIndex((bound) => bound <= hash),
  );
}

it.each([1, 2, 3, 17, 1_000])('finds the range of a hash among %d', (ranges) => {
  const seed = randomBytes(8 * ranges);
  const bounds = Array.from({ length: ranges - 1 }, (_, index) => seed.readBigInt64LE(8 * index)).sort((a, b) =>
    a < b ? -1 : 1,
  );
  const lowest = [-(2n ** 63n), ...bounds];
  const found = new HashedRanges([
    encodeValue(new MinKey()),
    ...bounds.map((bound) => encodeValue(Long.fromBigInt(bound))),
  ]);
  const near = bounds.flatMap((bound) => [bound - 1n, bound, bound + 1n]);
  for (const hash of [...near, -(2n ** 63n), 2n ** 63n - 1n, 0n, -1n, 2n ** 32n - 1n, -(2n ** 32n)]) {
    const within = BigInt.asIntN(64, hash);
    expect(found.positionOf(halvesOf(within)), `${seed.toString('hex')} ${within}`).toBe(slowly(lowest, within));
  }
});
