import { buildIndexesValues } from '@convoy/api/contract/start-request';
import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { compareCatalogs } from '../../../src/catalog/compare-catalogs.js';
import { finalIndexScope, isBuiltAfterCopy, planIndexes } from '../../../src/catalog/index-plan.js';
import { noRemap } from '../../../src/catalog/namespace-remap.js';
import type { CatalogEntry } from '../../../src/catalog/namespace.js';
import type { Version } from '../../../src/cluster/node-client.js';
import { indexAsRead, keyPattern } from './as-read.js';

const exact = { v: 2, key: { k: 1 }, name: 'k_1' };
const longer = { v: 2, key: { k: 1, v: 1 }, name: 'longer' };
const other = { v: 2, key: { v: 1 }, name: 'v_1', hidden: true };

function entryOf(indexes: Document[], key: Document | null): CatalogEntry {
  return {
    database: 'd',
    name: 'c',
    type: 'collection',
    uuid: '0c',
    options: {},
    sharding: key === null ? null : { key: keyPattern(key), unique: false, chunks: [], everMoved: false },
    primaryShard: 's0',
    sizeBytes: 0,
    documentCount: 0,
    indexes: [{ v: 2, key: { _id: 1 }, name: '_id_' }, ...indexes].map(indexAsRead),
  };
}

const rulesFor = (version: Version) => ({ indexScope: 'all', destination: { kind: 'sharded', version } }) as const;

describe('a hidden index of a shard key', () => {
  const key = { k: 1 };
  const hide = (index: Document): Document => ({ ...index, hidden: true });

  it.each<[string, Document[], Document | null, Version, string[]]>([
    ['stays visible if it is the only one', [hide(exact), other], key, [8, 0, 10], ['v_1']],
    ['stays visible if all are hidden, the others not', [hide(exact), hide(longer)], key, [8, 0, 10], ['longer']],
    ['stays visible if only a longer one exists', [hide(longer), other], key, [8, 0, 10], ['v_1']],
    ['is hidden beside a visible one', [hide(exact), longer], key, [8, 0, 10], ['k_1']],
    ['is hidden where servers allow that', [hide(exact), other], key, [7, 0, 16], ['k_1', 'v_1']],
    ['is hidden on an unsharded collection', [hide(exact)], null, [8, 0, 10], ['k_1']],
    ['is hidden if it is hashed', [hide({ ...exact, key: { k: 'hashed' } })], { k: 'hashed' }, [8, 0, 10], ['k_1']],
    ['is hidden beside that of _id', [hide({ ...longer, key: { _id: 1, v: 1 } })], { _id: 1 }, [8, 0, 10], ['longer']],
  ])('%s', (_, indexes, shardKey, version, hidden) => {
    const entry = entryOf(indexes, shardKey);
    const plan = planIndexes(entry, rulesFor(version));
    expect(plan.indexes.filter(({ final }) => final.hidden === true).map(({ final }) => final.name as string)).toEqual(
      hidden,
    );
    const isKept = hidden.length < indexes.filter((index) => index.hidden === true).length;
    expect(plan.warnings.map(({ name }) => name)).toEqual(isKept ? ['shardKeyIndexVisible'] : []);
    const made = entryOf(
      indexes.map(({ hidden: _hidden, ...index }) => (hidden.includes(String(index.name)) ? hide(index) : index)),
      shardKey,
    );
    expect(compareCatalogs([entry], [made], { ...rulesFor(version), form: 'final', remap: noRemap })).toEqual([]);
  });
});

it('every value of buildIndexes says which indexes the destination gets, and when', () => {
  expect(buildIndexesValues.map((value) => [value, finalIndexScope(value), isBuiltAfterCopy(value)])).toEqual([
    ['beforeDataCopy', 'all', false],
    ['afterDataCopy', 'all', true],
    ['excludeHashed', 'notHashed', false],
    ['excludeHashedAfterCopy', 'notHashed', true],
    ['never', 'shardKey', false],
  ]);
});

it('a TTL index of a time series is only built at the commit', () => {
  const original = { key: { at: 1 }, name: 'old', expireAfterSeconds: 60, partialFilterExpression: { m: 1 } };
  const stored = { ...original, v: 2, key: { 'control.min.at': 1 }, originalSpec: original };
  const entry = { ...entryOf([stored], null), name: 'system.buckets.c' };
  const [plan] = planIndexes(entry, rulesFor([8, 0, 10])).indexes;
  expect(plan?.final).toMatchObject({ name: 'old', expireAfterSeconds: 60 });
  expect(plan?.temporary).toBe(null);
  expect(planIndexes({ ...entry, name: 'c' }, rulesFor([8, 0, 10])).indexes[0]?.temporary?.name).toBe('old');
});
