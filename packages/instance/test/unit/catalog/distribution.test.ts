import { BSON, type Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { maxKey, minKey } from '../../../src/bson/scan.js';
import { keyBound } from '../../../src/bson/shard-key.js';
import { planDestination } from '../../../src/catalog/destination-plan.js';
import { distributeChunks, distributeDatabases, withSampledRanges } from '../../../src/catalog/distribution.js';
import { noRemap } from '../../../src/catalog/namespace-remap.js';
import type { Catalog, CatalogEntry, Chunk } from '../../../src/catalog/namespace.js';
import { fakeCluster, FakeNodeClient } from '../fake-node-client.js';
import { boundsOf, chunkOf, keyPattern } from './as-read.js';

const low = new BSON.MinKey();
const high = new BSON.MaxKey();

function chunksOf(shards: readonly string[]): Chunk[] {
  return shards.map((shard, position) =>
    chunkOf({ k: position === 0 ? low : position }, { k: position === shards.length - 1 ? high : position + 1 }, shard),
  );
}

const shardsOf = (ranges: readonly { shard: string }[]): string[] => ranges.map((range) => range.shard);

describe('distributeChunks', () => {
  it('keeps ranges and maps shards by their position in the sorted lists', () => {
    const ranges = distributeChunks(keyPattern({ k: 1 }), chunksOf(['s2', 's1', 's2', 's2']), ['s2', 's1'], ['b', 'a']);
    expect(shardsOf(ranges)).toEqual(['b', 'a', 'b', 'b']);
    expect(ranges.map(({ min, max }) => ({ min, max }))).toEqual(
      chunksOf(['s2', 's1', 's2', 's2']).map(({ min, max }) => ({ min, max })),
    );
  });

  it('assigns consecutive ranges evenly if shard counts differ', () => {
    const chunks = chunksOf(['s1', 's2', 's1', 's2', 's1', 's2', 's1']);
    expect(shardsOf(distributeChunks(keyPattern({ k: 1 }), chunks, ['s1', 's2'], ['a', 'b', 'c']))).toEqual([
      'a',
      'a',
      'a',
      'b',
      'b',
      'c',
      'c',
    ]);
    expect(shardsOf(distributeChunks(keyPattern({ k: 1 }), chunks, ['s1', 's2'], ['a']))).toEqual(
      Array.from({ length: 7 }, () => 'a'),
    );
  });

  it('splits the hash space evenly if there are fewer ranges than shards', () => {
    const chunks = [chunkOf({ k: low }, { k: high }, 's1')];
    const ranges = distributeChunks(keyPattern({ k: 'hashed' }), chunks, ['s1'], ['a', 'b', 'c', 'd']);
    expect(shardsOf(ranges)).toEqual(['a', 'b', 'c', 'd']);
    expect(ranges.map((range) => BSON.EJSON.stringify(boundsOf(range).min))).toEqual(
      [low, BSON.Long.fromBigInt(-(2n ** 62n)), BSON.Long.fromBigInt(0n), BSON.Long.fromBigInt(2n ** 62n)].map((k) =>
        BSON.EJSON.stringify({ k }),
      ),
    );
    expect(ranges.slice(1).map((range) => range.min)).toEqual(ranges.slice(0, -1).map((range) => range.max));
    expect(ranges.map(boundsOf).at(-1)?.max).toEqual({ k: high });
  });

  it('splits the hash space for a hashed key of a collection that is not sharded yet', () => {
    expect(
      distributeChunks(keyPattern({ h: 'hashed', x: 1 }), [], ['rs'], ['a', 'b']).map((range) => boundsOf(range).min),
    ).toEqual([
      { h: low, x: low },
      { h: BSON.Long.fromNumber(0), x: low },
    ]);
    expect(distributeChunks(keyPattern({ h: 'hashed' }), [], ['rs'], ['a'])).toHaveLength(1);
  });

  it('leaves a ranged key of a collection that is not sharded yet to the server', () => {
    expect(distributeChunks(keyPattern({ k: 1 }), [], ['rs'], ['a', 'b'])).toEqual([]);
  });

  it('keeps the bytes of bounds, and joins ranges that meet at one that the driver cannot write', () => {
    const region = (fields: [string, unknown][]): Uint8Array => BSON.serialize(new Map([['k', new Map(fields)]]));
    const [before, after] = [
      region([
        ['region', 'm'],
        ['2024', 1],
      ]),
      region([
        ['2024', 1],
        ['region', 'm'],
      ]),
    ];
    const beyond = Buffer.from(BSON.serialize({ k: new Date(0) }));
    beyond.writeBigInt64LE(2n ** 62n + 1n, beyond.length - 9);
    const bounds = [
      keyBound(keyPattern({ k: 1 }), [], minKey),
      before,
      beyond,
      after,
      keyBound(keyPattern({ k: 1 }), [], maxKey),
    ];
    const chunks = bounds
      .slice(1)
      .map((max, position): Chunk => ({ min: bounds[position] ?? max, max, shard: `s${position % 2}` }));
    const ranges = distributeChunks(keyPattern({ k: 1 }), chunks, ['s0', 's1'], ['a', 'b']);
    expect(ranges.map(({ min, max }) => [min, max])).toEqual([
      [bounds[0], before],
      [before, after],
      [after, bounds[4]],
    ]);
    expect(shardsOf(ranges)).toEqual(['a', 'b', 'b']);
  });

  it.each([new BSON.BSONRegExp('^a', ''), { $gt: 1 }, { a: { $gt: 1 } }])(
    'joins ranges that meet at a bound that zones do not take: %j',
    (k) => {
      const chunks = [chunkOf({ k: low }, { k }, 's1'), chunkOf({ k }, { k: high }, 's2')];
      const ranges = distributeChunks(keyPattern({ k: 1 }), chunks, ['s1', 's2'], ['a', 'b']);
      expect(ranges.map(boundsOf)).toEqual([{ min: { k: low }, max: { k: high }, shard: 'a' }]);
    },
  );

  it('joins neighbours on one shard if there are very many', () => {
    const many = chunksOf(Array.from({ length: 3_000 }, (_, position) => (position < 1_500 ? 's1' : 's2')));
    const ranges = distributeChunks(keyPattern({ k: 1 }), many, ['s1', 's2'], ['a', 'b']);
    expect(ranges.map(boundsOf)).toEqual([
      { min: { k: low }, max: { k: 1_500 }, shard: 'a' },
      { min: { k: 1_500 }, max: { k: high }, shard: 'b' },
    ]);
  });
});

function entryOn(database: string, primaryShard: string, sizeBytes: number, name = 'c'): CatalogEntry {
  return {
    database,
    name,
    type: 'collection',
    uuid: '',
    options: {},
    indexes: [],
    sharding: null,
    primaryShard,
    sizeBytes,
    documentCount: 0,
  };
}

describe('distributeDatabases', () => {
  it('maps primary shards by position if counts are equal', () => {
    const catalog: Catalog = [entryOn('x', 's2', 1), entryOn('y', 's1', 1)];
    expect(Object.fromEntries(distributeDatabases(catalog, ['s1', 's2'], ['b', 'a']))).toEqual({ x: 'b', y: 'a' });
  });

  it('takes the primary of most collections', () => {
    const catalog: Catalog = [entryOn('x', 's1', 1, 'moved'), entryOn('x', 's2', 1, 'c'), entryOn('x', 's2', 1, 'd')];
    expect(distributeDatabases(catalog, ['s1', 's2'], ['a', 'b']).get('x')).toBe('b');
  });

  it('distributes databases by size if counts differ', () => {
    const catalog: Catalog = [
      entryOn('big', 's1', 100),
      entryOn('m1', 's1', 40),
      entryOn('m2', 's1', 40),
      entryOn('small', 's1', 30),
    ];
    expect(Object.fromEntries(distributeDatabases(catalog, ['s1'], ['a', 'b']))).toEqual({
      big: 'a',
      m1: 'b',
      m2: 'b',
      small: 'b',
    });
  });

  it('distributes empty databases too', () => {
    const catalog: Catalog = ['d1', 'd2', 'd3', 'd4'].map((database) => entryOn(database, 's1', 0));
    expect(
      shardsOf([...distributeDatabases(catalog, ['s1'], ['a', 'b']).values()].map((shard) => ({ shard }))).sort(),
    ).toEqual(['a', 'a', 'b', 'b']);
  });
});

const { signal } = new AbortController();

async function rangesOf(key: Document, sample: Document[]) {
  const router = new FakeNodeClient('source', { aggregate: () => ({ cursor: { firstBatch: sample } }) });
  const source = fakeCluster({ router, kind: 'replicaSet', shardIds: ['rs'] });
  const destination = fakeCluster({ router, shardIds: ['b', 'a'] });
  const entry: CatalogEntry = {
    database: 'd',
    name: 'c',
    type: 'collection',
    uuid: '0c',
    options: {},
    indexes: [],
    primaryShard: 'rs',
    sizeBytes: 0,
    documentCount: 0,
    sharding: { key: keyPattern(key), unique: false, chunks: [], everMoved: false },
  };
  const plan = planDestination([entry], { source, destination, indexScope: 'all', remap: noRemap });
  const sampled = await withSampledRanges(plan, source, destination, signal);
  return { ranges: (sampled.collections[0]?.sharding?.ranges ?? []).map(boundsOf), sent: router.sent };
}

describe('withSampledRanges', () => {
  it('splits the key space into equal parts without gaps, contiguous on every shard', async () => {
    const { ranges } = await rangesOf(
      { k: 1 },
      Array.from({ length: 80 }, (_, position) => ({ v0: position })),
    );
    expect(ranges.map((range) => Number(range.max.k)).slice(0, -1)).toEqual([10, 20, 30, 40, 50, 60, 70]);
    expect(ranges[0]?.min).toEqual({ k: low });
    expect(ranges.at(-1)?.max).toEqual({ k: high });
    expect(ranges.slice(1).map((range) => range.min)).toEqual(ranges.slice(0, -1).map((range) => range.max));
    expect(ranges.map((range) => range.shard).join('')).toBe('aaaabbbb');
  });

  it('never makes an empty range from few different values', async () => {
    const { ranges } = await rangesOf(
      { k: 1 },
      Array.from({ length: 80 }, (_, position) => ({ v0: position < 60 ? 'x' : 'y' })),
    );
    expect(ranges.map((range) => range.max.k as unknown)).toEqual(['y', high]);
    expect((await rangesOf({ k: 1 }, [])).ranges).toEqual([{ min: { k: low }, max: { k: high }, shard: 'a' }]);
  });

  it('keeps number types and bounds only the fields before a hashed one', async () => {
    const sample = [1, 2].map((value) => ({ v0: BSON.Long.fromNumber(value) }));
    const { ranges, sent } = await rangesOf({ t: 1, h: 'hashed' }, sample);
    expect(ranges[0]?.max.t).toBeInstanceOf(BSON.Long);
    expect(ranges[0]?.max.h).toBeInstanceOf(BSON.MinKey);
    expect(JSON.stringify(sent[0]?.command.pipeline)).not.toContain('$h');
  });

  it('leaves hashed keys as planned', async () => {
    const { ranges, sent } = await rangesOf({ h: 'hashed' }, []);
    expect(ranges).toHaveLength(2);
    expect(sent).toEqual([]);
  });

  it('takes no bound that zones do not take', async () => {
    const regex = new BSON.BSONRegExp('^a', '');
    const sample = Array.from({ length: 160 }, (_, position) => ({ v0: position % 2 === 0 ? regex : position }));
    const { ranges } = await rangesOf({ k: 1 }, sample);
    expect(ranges).toHaveLength(8);
    expect(ranges.map(({ min }) => ({ ...min }))).not.toContainEqual({ k: regex });
  });
});
