import { Timestamp } from 'mongodb';
import { describe, expect, it } from 'vitest';
import type { CatalogEntry } from '../../../../src/catalog/namespace.js';
import { takeStart } from '../../../../src/lifecycle/leader/initialise.js';
import { timestampOf } from '../../../../src/cluster/cluster-time.js';
import { chunkOf, keyPattern } from '../../catalog/as-read.js';

function entryOf(major: number, ownedSince: bigint | null): CatalogEntry {
  const owned = ownedSince === null ? {} : { ownedSince: timestampOf(ownedSince) };
  const chunk = { ...chunkOf({ k: 0 }, { k: 1 }, 's0'), version: new Timestamp({ t: major, i: 0 }), ...owned };
  return {
    database: 'shop',
    name: 'orders',
    type: 'collection',
    uuid: '0a'.repeat(16),
    options: {},
    indexes: [],
    sharding: { key: keyPattern({ k: 1 }), unique: false, chunks: [chunk], everMoved: major > 1 },
    primaryShard: 's0',
    sizeBytes: 0,
    documentCount: 0,
  };
}

/** Takes the times 10, 20, … with the catalogs in turn, the last one for ever. */
function takesOf(...catalogs: CatalogEntry[]) {
  let taken = 0;
  return {
    time: () => Promise.resolve(BigInt((taken += 1) * 10)),
    catalog: () => Promise.resolve([catalogs[Math.min(taken, catalogs.length) - 1] ?? entryOf(1, null)]),
  };
}

describe('the start time', () => {
  it('is taken again if a chunk has moved between it and the reading of the catalog', async () => {
    const { startTime, catalog } = await takeStart(takesOf(entryOf(2, 15n), entryOf(2, 15n)));
    expect([startTime, catalog]).toEqual([20n, [entryOf(2, 15n)]]);
  });

  it.each([
    ['a chunk that moved before', entryOf(2, 10n)],
    ['a collection that was sharded after it', entryOf(1, 15n)],
    ['chunks without a history', entryOf(3, null)],
  ])('is not taken again for %s', async (_what, entry) => {
    expect((await takeStart(takesOf(entry))).startTime).toBe(10n);
  });

  it('is not found while chunks keep moving', async () => {
    await expect(takeStart(takesOf(entryOf(2, 10_000n)))).rejects.toMatchObject({
      error: 'balancerStillRunning',
      errorDescription: expect.stringContaining('shop.orders') as unknown,
    });
  });
});
