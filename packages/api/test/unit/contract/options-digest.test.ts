import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { optionsDifference, optionsDigest } from '@convoy/api/contract/options-digest';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { clusters } from './failures.js';

const name = fc.stringMatching(/^[a-zé]{1,3}$/);
const pattern = fc.record({ pattern: name, options: fc.constantFrom('', 'i', 'ims', 'sx') });
const collectionsPart = fc.record(
  { collections: fc.uniqueArray(name, { minLength: 1, maxLength: 3 }), collectionsRegex: pattern },
  { requiredKeys: [] },
);
const databasePart = fc.oneof(fc.record({ database: name }), fc.record({ databaseRegex: pattern }));
const filter = fc.array(
  fc.tuple(databasePart, collectionsPart).map(([database, collections]) => ({ ...database, ...collections })),
  { maxLength: 3 },
);
const shardKey = fc
  .uniqueArray(name, { minLength: 1, maxLength: 3 })
  .map((fields) => fields.map((field) => ({ [field]: 1 })));
const sharding = fc.record({
  createSupportingIndexes: fc.boolean(),
  shardingEntries: fc.uniqueArray(
    fc.record({ database: name, collection: name, shardCollection: fc.record({ key: shardKey }) }),
    { maxLength: 3, selector: (entry) => `${entry.database}.${entry.collection}` },
  ),
});

/** Start bodies with every option set or left out. */
const startBody = fc
  .record(
    {
      buildIndexes: fc.constant('beforeDataCopy'),
      reversible: fc.boolean(),
      includeNamespaces: filter,
      excludeNamespaces: filter,
      sharding,
      verification: fc.record({ enabled: fc.boolean() }, { requiredKeys: [] }),
    },
    { requiredKeys: [] },
  )
  .map((options): Record<string, unknown> => ({ ...clusters, ...options, enableUserWriteBlocking: true }));

function shuffled<Element>(elements: readonly Element[], order: readonly number[]): Element[] {
  return elements
    .map((element, position) => ({ element, place: order[position % order.length] ?? 0 }))
    .sort((left, right) => left.place - right.place)
    .map(({ element }) => element);
}

/** The same value with another order of its fields and lists, except for a shard key's. */
function rearranged(value: unknown, order: readonly number[], within = ''): unknown {
  if (Array.isArray(value)) {
    const elements: unknown[] = value.map((element) => rearranged(element, order, within));
    return within === 'key' ? elements : shuffled(elements, order);
  }
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([field, inner]) => [field, rearranged(inner, order, field)] as const);
  return Object.fromEntries(shuffled(fields, order));
}

const order = fc.array(fc.integer(), { minLength: 5, maxLength: 5 });

describe('optionsDigest', () => {
  it('is 64 hexadecimal digits and a fixed value for a fixed request', () => {
    const digest = optionsDigest(parseStartRequest(clusters));
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(digest).toBe(optionsDigest(parseStartRequest({ destination: 'cluster1', source: 'cluster0' })));
  });

  it('is the same with explicit defaults', () => {
    const writtenOut = {
      ...clusters,
      buildIndexes: 'beforeDataCopy',
      enableUserWriteBlocking: false,
      includeNamespaces: [],
      excludeNamespaces: [],
      reversible: false,
      verification: { enabled: true },
    };
    expect(optionsDigest(parseStartRequest(writtenOut))).toBe(optionsDigest(parseStartRequest(clusters)));
  });

  it('is the same whatever the order of fields, selectors, collections and sharding entries', () => {
    fc.assert(
      fc.property(startBody, order, (body, places) => {
        const other = parseStartRequest(rearranged(body, places));
        expect(optionsDigest(other)).toBe(optionsDigest(parseStartRequest(body)));
      }),
    );
  });

  it('is the same for a request and its normal form, which is stable', () => {
    fc.assert(
      fc.property(startBody, (body) => {
        const request = parseStartRequest(body);
        const again = parseStartRequest(JSON.parse(JSON.stringify(request)));
        expect(again).toEqual(request);
        expect(optionsDigest(again)).toBe(optionsDigest(request));
      }),
    );
  });

  it('differs exactly when optionsDifference names an option', () => {
    fc.assert(
      fc.property(startBody, startBody, (left, right) => {
        const [a, b] = [parseStartRequest(left), parseStartRequest(right)];
        expect(optionsDifference(a, b).length === 0).toBe(optionsDigest(a) === optionsDigest(b));
      }),
    );
  });

  /** Of each option, a value that is not its default. */
  const others: Record<keyof StartRequest, unknown> = {
    source: 'cluster2',
    destination: 'cluster2',
    buildIndexes: 'never',
    indexConflicts: 'majority',
    indexFailures: 'skip',
    enableUserWriteBlocking: true,
    includeNamespaces: [{ database: 'a' }],
    excludeNamespaces: [{ database: 'a' }],
    reversible: true,
    keepBalancer: true,
    copyInNaturalOrder: [{ database: 'a' }],
    detectRandomId: true,
    sharding: { shardingEntries: [] },
    documentFilter: [{ database: 'a', collection: 'b', filter: { c: 1 } }],
    namespaceRemap: [{ from: { database: 'a' }, to: { database: 'b' } }],
    carry: ['zones'],
    verification: { enabled: false },
  };
  it.each(Object.entries(others))('differs, and names the option, for another %s', (option, value) => {
    // A reversible migration blocks writes.
    const base = option === 'reversible' ? { ...clusters, enableUserWriteBlocking: true } : clusters;
    const [one, other] = [parseStartRequest(base), parseStartRequest({ ...base, [option]: value })];
    expect(optionsDigest(other)).not.toBe(optionsDigest(one));
    expect(optionsDifference(other, one)).toEqual([expect.stringMatching(`^${option}: `)]);
  });

  it('distinguishes the orders of a shard key', () => {
    const digests = [
      [{ a: 1 }, { b: 1 }],
      [{ b: 1 }, { a: 1 }],
    ].map((key) => {
      const entry = { database: 'd', collection: 'c', shardCollection: { key } };
      return optionsDigest(parseStartRequest({ ...clusters, sharding: { shardingEntries: [entry] } }));
    });
    expect(new Set(digests).size).toBe(2);
  });
});

describe('optionsDifference', () => {
  const base: StartRequest = parseStartRequest(clusters);

  it('is empty for equal options', () => {
    expect(optionsDifference(base, parseStartRequest({ ...clusters, verification: {} }))).toEqual([]);
  });

  it('names every differing option with both values', () => {
    const other = parseStartRequest({ ...clusters, buildIndexes: 'never', sharding: { shardingEntries: [] } });
    expect(optionsDifference(other, base)).toEqual([
      'buildIndexes: "never" here, "beforeDataCopy" there',
      'sharding: {"createSupportingIndexes":false,"shardingEntries":[]} here, not set there',
    ]);
  });

  it('shortens long values', () => {
    const collections = Array.from({ length: 500 }, (_, position) => `collection${position}`);
    const other = parseStartRequest({ ...clusters, includeNamespaces: [{ database: 'a', collections }] });
    expect(optionsDifference(other, base).join('').length).toBeLessThan(300);
  });
});
