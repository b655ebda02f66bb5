import type { Document } from 'mongodb';
import { expect, it } from 'vitest';
import type { CatalogEntry } from '../../../src/catalog/namespace.js';
import { describeChosen, type IndexChoices, withChosenIndexes } from '../../../src/catalog/chosen-indexes.js';
import { chunkOf, indexAsRead, keyPattern } from './as-read.js';

const byKey = { v: 2, key: { k: 1 }, name: 'k_1' };
const a = { v: 2, key: { a: 1 }, name: 'a_1' };
const other = { ...a, sparse: true };
const ttl = { ...a, expireAfterSeconds: 60 };

/** What a collection has by a choice, whose shards have these forms; what the start says against it. */
function chosenFrom(choices: IndexChoices, forms: [Document | null, number][], listed: Document[] = [byKey, a]) {
  const name = String(forms.find(([index]) => index !== null)?.[0]?.name);
  const entry: CatalogEntry = {
    database: 'app',
    name: 'c',
    type: 'collection',
    uuid: '0c',
    options: {},
    indexes: listed.map(indexAsRead),
    sharding: {
      key: keyPattern({ k: 1 }),
      unique: false,
      chunks: [chunkOf({ k: 0 }, { k: 1 }, 's0')],
      everMoved: false,
    },
    primaryShard: 's0',
    sizeBytes: 0,
    documentCount: 0,
  };
  const conflict = {
    namespace: 'app.c',
    index: name,
    shards: ['s2'],
    forms: forms.map(([index, shards]) => ({ index: index === null ? null : indexAsRead(index), shards })),
  };
  const { report, chosen } = withChosenIndexes({ catalog: [entry], inconsistentIndexes: [conflict] }, choices);
  return {
    indexes: report.catalog[0]?.indexes,
    isOpen: report.inconsistentIndexes.length > 0,
    refusal: chosen[0]?.refusal ?? null,
    text: describeChosen(chosen),
  };
}

it.each<[string, IndexChoices['indexConflicts'], [Document | null, number][], Document[], string | null]>([
  [
    'most shards have it',
    'majority',
    [
      [other, 2],
      [a, 1],
    ],
    [byKey, other],
    null,
  ],
  [
    'most shards lack it',
    'majority',
    [
      [null, 2],
      [a, 1],
    ],
    [byKey],
    null,
  ],
  [
    'the forms are tied',
    'majority',
    [
      [a, 1],
      [other, 1],
    ],
    [byKey],
    'no form has a majority',
  ],
  [
    'it is to be skipped',
    'skip',
    [
      [a, 2],
      [null, 1],
    ],
    [byKey],
    null,
  ],
  [
    'it expires documents on some shards',
    'skip',
    [
      [ttl, 1],
      [null, 1],
    ],
    [byKey],
    'it expires documents',
  ],
  [
    'most shards do not expire documents',
    'majority',
    [
      [a, 2],
      [ttl, 1],
    ],
    [byKey, a],
    'it expires documents',
  ],
  [
    'the shard key needs it',
    'skip',
    [
      [byKey, 2],
      [null, 1],
    ],
    [a],
    'the shard key needs it',
  ],
])('a collection has the index that counts when %s', (_what, indexConflicts, forms, expected, refusal) => {
  const found = chosenFrom({ indexConflicts }, forms);
  expect(found).toMatchObject({ indexes: expected.map(indexAsRead), isOpen: false, refusal });
  expect(found.text).toMatch(/^The destination does not get every index .* of app\.c \(differs on s2, /);
});

it('without a choice nothing is decided, and the catalog stays as it was read', () => {
  const found = chosenFrom({}, [
    [other, 2],
    [a, 1],
  ]);
  expect(found).toEqual({ indexes: [byKey, a].map(indexAsRead), isOpen: true, refusal: null, text: null });
});

it('a type that no destination has any more is skipped as one that cannot be built', () => {
  const hay = { v: 2, key: { g: 'geoHaystack' }, name: 'hay', bucketSize: 1 };
  const found = chosenFrom(
    { indexFailures: 'skip' },
    [
      [a, 2],
      [null, 1],
    ],
    [byKey, hay],
  );
  expect(found).toMatchObject({ indexes: [indexAsRead(byKey)], isOpen: true, refusal: null });
  expect(found.text).toContain('hay of app.c (skipped: geoHaystack indexes ended with version 4.4)');
});
