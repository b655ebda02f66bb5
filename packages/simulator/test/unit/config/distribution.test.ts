import { Int32, Long, MaxKey, MinKey, ObjectId, Timestamp } from 'bson';
import { describe, expect, it } from 'vitest';
import type { Doc, Value } from '../../../src/bson/value.js';
import { type Chunk, ChunkMap } from '../../../src/config/chunk-map.js';
import { initialChunks, type InitialDistribution } from '../../../src/config/initial-chunks.js';
import { ShardKeyPattern } from '../../../src/config/shard-key.js';
import { type ZoneRange, ZoneRanges } from '../../../src/config/zone.js';
import { CommandError } from '../../../src/node/command.js';
import { doc } from '../../../src/node/doc-fields.js';

const time = new Timestamp({ t: 100, i: 1 });

function distribution(key: Doc, options: Partial<InitialDistribution> = {}): InitialDistribution {
  return {
    pattern: ShardKeyPattern.parse(key),
    empty: true,
    primary: 'shard0',
    shards: ['shard0', 'shard1'],
    zones: [],
    shardsOfZone: (zone) => [zone === 'z1' ? 'shard1' : 'shard0'],
    chunkCount: undefined,
    chunksPerShard: 2,
    time,
    ...options,
  };
}

function zone(min: Value, max: Value, name: string): ZoneRange {
  return {
    id: new ObjectId(),
    namespace: 'd.c',
    minDocument: doc(['k', min]),
    maxDocument: doc(['k', max]),
    zone: name,
  };
}

const ascending = doc(['k', new Int32(1)]);

describe('the first chunks of a collection', () => {
  it('are one for a ranged key, on the primary shard', () => {
    expect(initialChunks(distribution(ascending)).chunks.map((chunk) => chunk.shard)).toEqual(['shard0']);
  });

  it('split the hashes evenly and keep neighbours together', () => {
    const { chunks } = initialChunks(distribution(doc(['k', 'hashed']), { chunkCount: 4 }));
    expect(chunks.slice(1).map((chunk) => String(chunk.min[0] as Long))).toEqual([
      '-4611686018427387902',
      '0',
      '4611686018427387902',
    ]);
    expect(chunks.map((chunk) => chunk.shard)).toEqual(['shard0', 'shard0', 'shard1', 'shard1']);
  });

  it('follow the zones, gaps in turn on all shards', () => {
    const zones = [zone(new Int32(200), new Int32(300), 'z1'), zone(new Int32(0), new Int32(100), 'z1')];
    const { chunks } = initialChunks(distribution(ascending, { zones }));
    expect(chunks.map((chunk) => chunk.shard)).toEqual(['shard0', 'shard1', 'shard1', 'shard1', 'shard0']);
  });

  it('ignore zones when there are documents', () => {
    const zones = [zone(new MinKey(), new Int32(0), 'z1')];
    expect(initialChunks(distribution(ascending, { zones, empty: false })).chunks).toHaveLength(1);
  });
});

describe('zone ranges', () => {
  const range = (min: number, max: number, name: string) => zone(new Int32(min), new Int32(max), name);
  const shown = (ranges: ZoneRanges) =>
    ranges.of('d.c').map(({ minDocument, zone: name }) => [Number(minDocument.get('k')), name]);

  it('replace the same range, which keeps its id, and refuse overlaps', () => {
    const ranges = new ZoneRanges();
    const { id } = ranges.add(range(10, 20, 'a'));
    expect(ranges.add(range(10, 20, 'b')).id).toBe(id);
    ranges.add(range(20, 30, 'c'));
    ranges.add(range(0, 10, 'd'));
    expect(shown(ranges)).toEqual([
      [0, 'd'],
      [10, 'b'],
      [20, 'c'],
    ]);
    for (const [min, max] of [
      [15, 18],
      [5, 11],
      [0, 9],
      [25, 40],
      [-5, 50],
    ] as const)
      expect(() => ranges.add(range(min, max, 'e'))).toThrow(CommandError);
  });

  it('are removed by both their bounds, and with their collection', () => {
    const ranges = new ZoneRanges();
    for (const min of [40, 0, 20, 10, 30]) ranges.add(range(min, min + 10, 'a'));
    expect(ranges.remove('d.c', [new Int32(20)], [new Int32(40)])).toBeUndefined();
    expect(ranges.remove('d.c', [new Int32(20)], [new Int32(30)])?.zone).toBe('a');
    expect(shown(ranges).map(([min]) => min)).toEqual([0, 10, 30, 40]);
    expect(ranges.uses('a')).toBe(true);
    ranges.drop('d.c');
    expect(ranges.uses('a')).toBe(false);
  });
});

describe('ChunkMap', () => {
  const chunk = (min: Value, max: Value, shard: string, since: number, before?: string): Chunk => ({
    id: new ObjectId(),
    min: [min],
    max: [max],
    shard,
    version: new Timestamp({ t: 1, i: 0 }),
    history: [
      { shard, validAfter: new Timestamp({ t: since, i: 0 }) },
      ...(before === undefined ? [] : [{ shard: before, validAfter: new Timestamp({ t: 10, i: 0 }) }]),
    ],
  });
  const map = new ChunkMap([
    chunk(new MinKey(), new Int32(0), 'a', 10),
    chunk(new Int32(0), new Int32(50), 'b', 20, 'a'),
    chunk(new Int32(50), new MaxKey(), 'b', 10),
  ]);

  it.each([
    [new Int32(-1), 'a'],
    [new Int32(0), 'b'],
    [new Int32(49), 'b'],
    ['text', 'b'],
    [null, 'a'],
  ])('finds the owner of %s', (key, owner) => {
    expect(map.holderOf([key])).toBe(owner);
  });

  it('knows the owners of earlier times, as far as the history reaches', () => {
    expect(map.at(new Timestamp({ t: 15, i: 0 })).holderOf([new Int32(1)])).toBe('a');
    expect(map.at(new Timestamp({ t: 25, i: 0 })).holderOf([new Int32(1)])).toBe('b');
    expect(() => map.at(new Timestamp({ t: 5, i: 0 }))).toThrow('Cannot find shardId');
  });
});
