import fc from 'fast-check';
import { BSON, type Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { compareRaw } from '../../../src/bson/order.js';
import { idClass } from '../../../src/bson/id.js';
import { encodeValue, maxKey, minKey } from '../../../src/bson/scan.js';
import type { Partition } from '../../../src/store/partition.js';
import { PartitionTable, type SavePartitions } from '../../../src/store/partition-table.js';
import { bsonValues } from '../bson/values.js';
import { collectionOf, rawOf, settled } from '../model/parts.js';
import { bringTo } from '../model/partition-states.js';

const collection = collectionOf();
const nothing: SavePartitions = () => Promise.resolve();

function stored(table: PartitionTable): Promise<Document[]> {
  return new Promise((resolve) => {
    const recording = new PartitionTable(collection, table.partitions, (_collection, partitions) => {
      const bytes = BSON.serialize({ partitions });
      resolve((BSON.deserialize(bytes, { promoteBuffers: false }) as { partitions: Document[] }).partitions);
      return Promise.resolve();
    });
    void recording.persist();
  });
}

function first(table: PartitionTable): Partition {
  const [partition] = table.partitions;
  if (partition === undefined) throw new Error('no partition');
  return partition;
}

describe('partitions', () => {
  it('cover every _id from MinKey to MaxKey without gaps', () => {
    const table = PartitionTable.fresh(collection, [rawOf(5), rawOf('m')], nothing);
    expect(table.partitions.map(({ lower }) => lower)).toEqual([minKey, rawOf(5), rawOf('m')]);
    expect(table.partitions.map(({ upper }) => upper)).toEqual([rawOf(5), rawOf('m'), maxKey]);
  });

  it('contain each _id in exactly one range, and all of an id class in the same', () => {
    fc.assert(
      fc.property(fc.array(bsonValues, { maxLength: 6 }), bsonValues, bsonValues, (starts, one, other) => {
        const sorted = starts
          .map(encodeValue)
          .sort(compareRaw)
          .filter((value, index, all) => index === 0 || compareRaw(value, all[index - 1] ?? value) !== 0);
        const table = PartitionTable.fresh(
          collection,
          sorted.filter((value) => compareRaw(value, minKey) > 0 && compareRaw(value, maxKey) < 0),
          nothing,
        );
        const [a, b] = [encodeValue(one), encodeValue(other)];
        const found = table.find(a);
        expect(compareRaw(found.lower, a)).toBeLessThanOrEqual(0);
        expect(found === table.partitions.at(-1) || compareRaw(a, found.upper) < 0).toBe(true);
        if (idClass(a, false) === idClass(b, false)) expect(table.find(b)).toBe(found);
      }),
    );
  });

  it('split into a first part and a waiting rest with its read time, dirty only on request', () => {
    const table = PartitionTable.fresh(collection, [], nothing);
    bringTo(first(table), 'copying', 7n);
    first(table).markDirty();
    const rest = table.splitAt(first(table), rawOf(5), false);
    expect(table.partitions).toEqual([first(table), rest]);
    expect(first(table).upper).toBe(rest.lower);
    expect(rest).toMatchObject({
      state: 'waiting',
      readTime: 7n,
      dirty: false,
      upper: maxKey,
      buffered: [],
      dropped: 0n,
    });
    expect(table.splitAt(rest, rawOf(9), true).dirty).toBe(true);
    expect([table.find(rawOf(4)), table.find(rawOf(5)), table.find(rawOf(9))]).toEqual(table.partitions);
  });
});

describe('the durable form', () => {
  it('restores bounds byte for byte, and unfinished copies as waiting and dirty', async () => {
    const table = PartitionTable.fresh(
      collection,
      [
        rawOf(
          new Map([
            ['b', 1],
            ['a', 2],
          ]),
        ),
      ],
      nothing,
    );
    bringTo(first(table), 'copying', 7n);
    first(table).markDirty();
    first(table).wrote(2, 10);
    const second = table.partitions[1] ?? first(table);
    bringTo(second, 'copying', 6n);
    second.markDirty();
    second.wrote(3, 20);
    second.endReading(9n);
    second.close();
    second.finish();
    const restored = PartitionTable.restored(collection, await stored(table), nothing);
    const [unfinished, finished] = restored.partitions;
    expect(unfinished).toMatchObject({
      state: 'waiting',
      dirty: true,
      readTime: 7n,
      readEnd: null,
      bytes: 0,
      documents: 0,
      buffered: [],
    });
    expect(finished).toMatchObject({ state: 'done', dirty: false, readTime: 6n, readEnd: 9n, bytes: 20, documents: 3 });
    const bounds = (partition: Partition | undefined): string[] =>
      [partition?.lower, partition?.upper].map(
        (bound) => `${bound?.type ?? ''} ${Buffer.from(bound?.bytes ?? []).toString('hex')}`,
      );
    expect([unfinished, finished].map(bounds)).toEqual(table.partitions.map(bounds));
  });

  it.each(['starting', 'waiting'] as const)('of a clean partition that is %s is clean', async (state) => {
    const table = PartitionTable.fresh(collection, [], nothing);
    bringTo(first(table), state);
    expect(first(PartitionTable.restored(collection, await stored(table), nothing))).toMatchObject({
      state: 'waiting',
      dirty: false,
    });
  });

  it('of a closing partition is done and clean in the same write as its rest', async () => {
    const table = PartitionTable.fresh(collection, [], nothing);
    bringTo(first(table), 'copying', 7n);
    first(table).markDirty();
    table.splitAt(first(table), rawOf(5), false);
    first(table).endReading(8n);
    first(table).close();
    const restored = PartitionTable.restored(collection, await stored(table), nothing);
    expect(restored.partitions.map(({ state, dirty }) => [state, dirty])).toEqual([
      ['done', false],
      ['waiting', false],
    ]);
  });

  it('is saved one write after the other, each with the state at its call', async () => {
    const saves: { states: unknown[]; done: () => void }[] = [];
    const table = PartitionTable.fresh(
      collection,
      [],
      (_collection, partitions) =>
        new Promise((done) => saves.push({ states: partitions.map(({ state }) => state as unknown), done })),
    );
    void table.persist();
    bringTo(first(table), 'copying');
    void table.persist();
    await settled();
    expect(saves.map(({ states }) => states)).toEqual([['waiting']]);
    saves[0]?.done();
    await settled();
    expect(saves.map(({ states }) => states)).toEqual([['waiting'], ['copying']]);
  });

  it('fails one save without stopping later ones', async () => {
    let fails = true;
    const table = PartitionTable.fresh(collection, [], () =>
      fails ? Promise.reject(new Error('refused')) : Promise.resolve(),
    );
    await expect(table.persist()).rejects.toThrow('refused');
    fails = false;
    await expect(table.persist()).resolves.toBeUndefined();
  });
});
