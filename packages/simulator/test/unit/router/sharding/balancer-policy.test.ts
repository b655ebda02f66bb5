import { Binary, Int32, MaxKey, MinKey, ObjectId, Timestamp } from 'bson';
import { describe, expect, it } from 'vitest';
import { type Chunk, ChunkMap } from '../../../../src/config/chunk-map.js';
import { ShardKeyPattern } from '../../../../src/config/shard-key.js';
import type { ShardedCollection } from '../../../../src/config/sharded-collection.js';
import type { ZoneRange } from '../../../../src/config/zone.js';
import { doc } from '../../../../src/node/doc-fields.js';
import {
  type BalancedShard,
  type BalancedCollection,
  planMoves,
  zoneSplits,
} from '../../../../src/router/sharding/balancer-policy.js';

const time = new Timestamp({ t: 1, i: 0 });

/** Chunks of ten keys each, from MinKey to MaxKey, on the shards named. */
function collection(owners: readonly string[], jumbo: readonly number[] = []): ShardedCollection {
  const chunks = owners.map((shard, index): Chunk => {
    const min = index === 0 ? new MinKey() : new Int32(index * 10);
    const max = index === owners.length - 1 ? new MaxKey() : new Int32((index + 1) * 10);
    const chunk = {
      id: new ObjectId(),
      min: [min],
      max: [max],
      shard,
      version: new Timestamp({ t: 1, i: index }),
      history: [{ shard, validAfter: time }],
    };
    return jumbo.includes(index) ? { ...chunk, jumbo: true } : chunk;
  });
  return {
    namespace: 'db.c',
    uuid: new Binary(Buffer.alloc(16), 4),
    key: ShardKeyPattern.parse(doc(['k', new Int32(1)])),
    unique: false,
    defaultCollation: undefined,
    epoch: new ObjectId(),
    timestamp: time,
    changedMs: 0,
    noBalance: false,
    chunks: new ChunkMap(chunks),
  };
}

function shard(id: string, parts: Partial<BalancedShard> = {}): BalancedShard {
  return { id, draining: false, zones: new Set(), bytes: 0, ...parts };
}

function zone(min: number, max: number, name: string): ZoneRange {
  return {
    id: new ObjectId(),
    namespace: 'db.c',
    minDocument: doc(['k', new Int32(min)]),
    maxDocument: doc(['k', new Int32(max)]),
    zone: name,
  };
}

function plan(input: Partial<BalancedCollection> & { collection: ShardedCollection }): string[] {
  const whole = { shards: [shard('a'), shard('b'), shard('c')], zones: [], rangeBytes: undefined, ...input };
  return planMoves(whole).map(({ chunk, to, reason }) => `${chunk.shard}>${to} ${reason}`);
}

describe('the balancer', () => {
  it('evens out chunks, one move for each pair of shards', () => {
    expect(plan({ collection: collection(['a', 'a', 'a']) })).toEqual(['a>b chunksImbalance']);
    expect(plan({ collection: collection(['a', 'b', 'c']) })).toEqual([]);
    expect(plan({ collection: collection(['a', 'a', 'b', 'c']) })).toEqual([]);
  });

  it('empties draining shards first', () => {
    const shards = [shard('a', { draining: true }), shard('b'), shard('c')];
    expect(plan({ collection: collection(['a', 'b', 'b', 'c']), shards })).toEqual(['a>c draining']);
  });

  it('brings chunks into their zones, and evens out within them', () => {
    const shards = [shard('a'), shard('b', { zones: new Set(['z']) }), shard('c', { zones: new Set(['z']) })];
    const zones = [zone(10, 30, 'z')];
    expect(plan({ collection: collection(['a', 'a', 'b', 'a']), shards, zones })[0]).toBe('a>c zoneViolation');
    expect(plan({ collection: collection(['a', 'b', 'b', 'a']), shards, zones })).toContain('b>c chunksImbalance');
  });

  it('leaves jumbo chunks where they are', () => {
    expect(plan({ collection: collection(['a', 'a', 'a'], [0, 1]) })).toEqual(['a>b chunksImbalance']);
    expect(plan({ collection: collection(['a', 'a', 'a'], [0, 1, 2]) })).toEqual([]);
  });

  it('goes by bytes since 6.0', () => {
    const shards = [shard('a', { bytes: 300 }), shard('b', { bytes: 10 }), shard('c', { bytes: 5 })];
    expect(plan({ collection: collection(['a', 'a', 'b', 'c']), shards, rangeBytes: 98 })).toEqual([
      'a>c chunksImbalance',
    ]);
    expect(plan({ collection: collection(['a', 'a', 'a', 'a']), shards, rangeBytes: 100 })).toEqual([]);
  });

  it('splits where a zone ends within a chunk', () => {
    const splits = zoneSplits(collection(['a', 'a']), [zone(10, 15, 'z')]);
    expect(splits.map(({ at }) => at)).toEqual([[new Int32(15)]]);
    expect(
      zoneSplits(collection(['a', 'a']), [{ ...zone(10, 20, 'z'), maxDocument: doc(['k', new MaxKey()]) }]),
    ).toEqual([]);
  });
});
