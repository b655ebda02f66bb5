import { expect, test } from 'vitest';
import { compareRaw } from '../../../src/bson/order.js';
import { minKey } from '../../../src/bson/scan.js';
import { evenBounds, sampleIds } from '../../../src/cluster/sample-ids.js';
import { ObjectId } from 'mongodb';
import { rawOf } from '../model/parts.js';
import { FakeNodeClient } from '../fake-node-client.js';

test('splits a sample into ranges of equal size, in any order of the sample', () => {
  const sample = [7, 1, 5, 3, 8, 2, 6, 4].map((value) => rawOf(value));
  expect(evenBounds(sample, 4)).toEqual([3, 5, 7].map((value) => rawOf(value)));
  expect(evenBounds(sample, 1)).toEqual([]);
});

test('makes no empty range: bounds ascend, and the first is above the smallest key', () => {
  const bounds = evenBounds([minKey, rawOf(1), rawOf(1), rawOf(1), rawOf(2)], 5);
  expect(bounds).toEqual([rawOf(1), rawOf(2)]);
  expect(bounds.every((bound) => compareRaw(minKey, bound) < 0)).toBe(true);
  expect(evenBounds([], 3)).toEqual([]);
});

test('of the buckets of a time series, evenly spread over the time of their `_id`s, without reading them', async () => {
  const idAt = (second: number): ObjectId => new ObjectId(second.toString(16).padStart(8, '0') + '0'.repeat(16));
  const client = new FakeNodeClient('shard0', (command) => {
    const second = (command.sort as { _id: number })._id === 1 ? 1_000 : 5_000;
    return { cursor: { id: 0, firstBatch: [{ _id: idAt(second) }] } };
  });
  const ids = await sampleIds(client, 'plant', 'system.buckets.readings', 3, new AbortController().signal);
  expect(ids.map(({ bytes }) => Buffer.from(bytes).readUInt32BE(0))).toEqual([2_000, 3_000, 4_000]);
  expect(ids).toEqual([2_000, 3_000, 4_000].map((second) => rawOf(idAt(second))));
});
