import type { ShardingEntry } from '@convoy/api/contract/sharding';
import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { planIndexes } from '../../../src/catalog/index-plan.js';
import type { CatalogEntry } from '../../../src/catalog/namespace.js';
import { compileNamespaceFilter } from '../../../src/catalog/namespace-filter.js';
import { applyShardingEntries } from '../../../src/catalog/destination-plan.js';
import { indexAsRead, keyPattern } from './as-read.js';

type Key = ShardingEntry['shardCollection']['key'];

const everything = compileNamespaceFilter({ includeNamespaces: [], excludeNamespaces: [] });

function collection(indexes: Document[], parts: Partial<CatalogEntry> = {}): CatalogEntry {
  return {
    database: 'd',
    name: 'c',
    type: 'collection',
    uuid: '0c',
    options: {},
    sharding: null,
    primaryShard: 'rs',
    sizeBytes: 0,
    documentCount: 0,
    indexes: [{ v: 2, key: { _id: 1 }, name: '_id_' }, ...indexes].map(indexAsRead),
    ...parts,
  };
}

function apply(entry: CatalogEntry, key: Key, createSupportingIndexes = false): CatalogEntry | undefined {
  const shardingEntries = [{ database: 'd', collection: 'c', shardCollection: { key } }];
  return applyShardingEntries([entry], { createSupportingIndexes, shardingEntries }, everything)[0];
}

const index = (key: Document, attributes: Document = {}): Document => ({
  v: 2,
  key,
  name: Object.keys(key).join('_'),
  ...attributes,
});
const throwing = (error: string): unknown => expect.objectContaining({ error });

describe('applyShardingEntries', () => {
  it('gives listed collections their key in order and leaves others unchanged', () => {
    const other = collection([], { name: 'other' });
    const request = {
      createSupportingIndexes: false,
      shardingEntries: [
        { database: 'd', collection: 'c', shardCollection: { key: [{ b: 1 }, { a: 'hashed' }] as Key } },
      ],
    };
    const [first, second] = applyShardingEntries(
      [collection([index({ b: 1, a: 'hashed', z: 1 })]), other],
      request,
      everything,
    );
    expect([...(first?.sharding?.key ?? [])]).toEqual([
      ['b', 1],
      ['a', 'hashed'],
    ]);
    expect(first?.sharding).toMatchObject({ unique: false, chunks: [] });
    expect(second).toBe(other);
  });

  it('requires an index that starts with the key and is neither sparse nor partial', () => {
    expect(apply(collection([index({ a: 1, b: -1 })]), [{ a: 1 }])?.sharding?.key).toEqual(keyPattern({ a: 1 }));
    for (const entry of [
      collection([]),
      collection([index({ b: 1, a: 1 })]),
      collection([index({ a: -1 })]),
      collection([index({ a: 'hashed' })]),
      collection([index({ a: 1 }, { sparse: true })]),
      collection([index({ a: 1 }, { partialFilterExpression: { a: 1 } })]),
    ]) {
      expect(() => apply(entry, [{ a: 1 }])).toThrow(throwing('shardingKeyIndexMissing'));
    }
  });

  it('accepts the _id index for a key on _id', () => {
    expect(apply(collection([]), [{ _id: 1 }])?.sharding?.key).toEqual(keyPattern({ _id: 1 }));
  });

  it('requires an index with the simple collation in a collection with another', () => {
    const options = { collation: { locale: 'fr' } };
    const french = index({ a: 1 }, { collation: { locale: 'fr' } });
    expect(() => apply(collection([french], { options }), [{ a: 1 }])).toThrow(throwing('shardingKeyCollation'));
    expect(apply(collection([french, { ...index({ a: 1 }), name: 'simple' }], { options }), [{ a: 1 }])).toBeDefined();
  });

  it('refuses unique indexes that do not start with the key', () => {
    const support = index({ a: 1 });
    expect(() => apply(collection([support, index({ b: 1 }, { unique: true })]), [{ a: 1 }])).toThrow(
      throwing('shardingIndexIncompatible'),
    );
    expect(apply(collection([support, index({ a: 1, b: 1 }, { unique: true })]), [{ a: 1 }])).toBeDefined();
    expect(apply(collection([support, index({ _id: 1, b: 1 }, { unique: true })]), [{ a: 1 }])).toBeDefined();
  });

  it('refuses an index on the key that has prepareUnique but is not unique', () => {
    expect(() => apply(collection([index({ a: 1 }, { prepareUnique: true })]), [{ a: 1 }])).toThrow(
      throwing('shardingKeyUniqueness'),
    );
  });

  it.each([
    ['a missing collection', collection([], { name: 'another' })],
    ['a view', collection([], { type: 'view' })],
    ['a capped collection', collection([], { options: { capped: true, size: 4096 } })],
  ])('refuses %s', (_, entry) => {
    expect(() => apply(entry, [{ _id: 1 }])).toThrow(throwing('shardingEntryInvalid'));
  });

  it.each([
    [[{ value: 1 }], 'd.c of shardingEntries is a time series, whose shard key has its meta field and its time'],
    [[{ at: 1 }, { sensor: 1 }], 'can have its time at at the end alone'],
    [[{ sensor: 1 }, { at: 'hashed' }], 'can have its time at ascending alone'],
  ] as [Key, string][])('refuses the key %j of a time series, as servers do', (key, says) => {
    const options = { timeseries: { timeField: 'at', metaField: 'sensor' } };
    const series = collection([], { name: 'system.buckets.c', options });
    expect(() => apply(series, key, true)).toThrow(
      expect.objectContaining({ error: 'shardingEntryInvalid', message: expect.stringContaining(says) as string }),
    );
    expect(apply(series, [{ sensor: 1 }, { at: 1 }], true)?.sharding?.key).toEqual(
      keyPattern({ meta: 1, 'control.min.at': 1 }),
    );
  });

  it.each([
    ['a collection', 235, ''],
    ['a time series', 235 - 'system.buckets.'.length, 'system.buckets.'],
  ])('takes the longest name of %s that servers can shard', (_, bytesMax, prefix) => {
    const options = prefix === '' ? {} : { timeseries: { timeField: 'at', metaField: 'a' } };
    const sharded = (bytes: number) => {
      const name = 'x'.repeat(bytes - 'd.'.length);
      const shardingEntries = [{ database: 'd', collection: name, shardCollection: { key: [{ a: 1 }] as Key } }];
      const request = { createSupportingIndexes: true, shardingEntries };
      return applyShardingEntries([collection([], { name: `${prefix}${name}`, options })], request, everything);
    };
    expect(sharded(bytesMax)).toHaveLength(1);
    expect(() => sharded(bytesMax + 1)).toThrow(throwing('shardingEntryInvalid'));
  });

  it('refuses what the filter excludes', () => {
    const filter = compileNamespaceFilter({ includeNamespaces: [], excludeNamespaces: [{ database: 'd' }] });
    const request = {
      createSupportingIndexes: true,
      shardingEntries: [{ database: 'd', collection: 'c', shardCollection: { key: [{ _id: 1 }] as Key } }],
    };
    expect(() => applyShardingEntries([], request, filter)).toThrow(throwing('shardingEntryInvalid'));
  });

  it('keeps the order of fields whose names look like numbers', () => {
    const entry = apply(collection([]), [{ a: 1 }, { '1': 1 }], true);
    expect([...(entry?.sharding?.key ?? [])]).toEqual([
      ['a', 1],
      ['1', 1],
    ]);
  });

  it('plans missing supporting indexes on request, under an unused name', () => {
    const deps = { indexScope: 'all', destination: { kind: 'sharded', version: [5, 0, 0] } } as const;
    const sharded = apply(collection([]), [{ a: 1 }, { h: 'hashed' }], true);
    expect(sharded && planIndexes(sharded, deps).indexes).toEqual([
      {
        final: { key: keyPattern({ a: 1, h: 'hashed' }), name: 'a_1_h_hashed' },
        temporary: { key: keyPattern({ a: 1, h: 'hashed' }), name: 'a_1_h_hashed' },
      },
    ]);
    const taken = apply(collection([{ ...index({ a: 1 }, { sparse: true }), name: 'a_1' }]), [{ a: 1 }], true);
    expect(taken && planIndexes(taken, deps).indexes.map((plan) => plan.final.name as string)).toEqual([
      'a_1',
      'convoy_shard_key_a_1',
    ]);
  });
});
