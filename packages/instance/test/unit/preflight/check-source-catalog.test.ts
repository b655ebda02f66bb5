import { expect, test } from 'vitest';
import { elementType } from '../../../src/bson/element-type.js';
import { RawValue } from '../../../src/bson/scan.js';
import type { CatalogEntry } from '../../../src/catalog/namespace.js';
import { checkSourceCatalog } from '../../../src/preflight/check-source-catalog.js';

test('refuses indexes that differ between shards, by name', () => {
  const report = {
    catalog: [],
    timeSeries: [],
    inconsistentIndexes: [{ namespace: 'shop.orders', index: 'a_1', shards: ['shard1'], forms: [] }],
  };
  expect(() => checkSourceCatalog(report)).toThrow(
    expect.objectContaining({
      error: 'inconsistentIndexes',
      errorDescription: expect.stringMatching(/a_1 of shop\.orders.*shard1/) as unknown,
    }),
  );
  expect(() => checkSourceCatalog({ ...report, inconsistentIndexes: [] })).not.toThrow();
});

test('refuses by name what the driver cannot write again: a validator or pipeline, and a filter of an index', () => {
  const unsendable = new RawValue(elementType.dbPointer, new Uint8Array());
  const entry = (parts: Partial<CatalogEntry>): CatalogEntry => ({
    database: 'shop',
    name: 'orders',
    type: 'collection',
    uuid: '0c',
    options: {},
    indexes: [],
    sharding: null,
    primaryShard: 's0',
    sizeBytes: 0,
    documentCount: 0,
    ...parts,
  });
  const check = (parts: Partial<CatalogEntry>) => () =>
    checkSourceCatalog({ catalog: [entry(parts)], timeSeries: [], inconsistentIndexes: [] });
  expect(check({ options: { validator: unsendable } })).toThrow(
    expect.objectContaining({
      error: 'collectionNotSupported',
      errorDescription: expect.stringMatching(/shop\.orders/) as unknown,
    }),
  );
  const partial = { key: new Map([['a', 1]]), name: 'a_1', partialFilterExpression: unsendable };
  expect(check({ indexes: [partial] })).toThrow(
    expect.objectContaining({
      error: 'indexNotSupported',
      errorDescription: expect.stringMatching(/a_1 of shop\.orders/) as unknown,
    }),
  );
});
