import { BSON } from 'mongodb';
import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { planDestination } from '../../../../src/catalog/plan/destination-plan.js';
import type { CatalogEntry } from '../../../../src/catalog/namespace.js';
import { withSampledRanges } from '../../../../src/catalog/read/sample-ranges.js';
import { FakeNodeClient, fakeCluster } from '../../fake-node-client.js';
import { boundsOf, keyPattern } from '../as-read.js';
import { noRemap } from '../../../../src/catalog/namespace-remap.js';

const { signal } = new AbortController();
const low = new BSON.MinKey();
const high = new BSON.MaxKey();

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
