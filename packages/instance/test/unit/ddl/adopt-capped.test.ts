import { expect, test } from 'vitest';
import type { CatalogEntry } from '../../../src/catalog/namespace.js';
import { adoptCapped } from '../../../src/ddl/adopt-capped.js';
import type { Metadata } from '../../../src/store/metadata.js';
import { UuidPairs } from '../../../src/store/uuid-pairs.js';

const { signal } = new AbortController();
const entry = { uuid: 'source', database: 'db', name: 'log', options: { capped: true } } as unknown as CatalogEntry;

function pairsOf(): Promise<UuidPairs> {
  const metadata = { find: () => Promise.resolve([]), upsertEach: () => Promise.resolve() } as unknown as Metadata;
  return UuidPairs.read(metadata, 1, signal);
}

function listed(uuid: string) {
  return [{ uuid, database: 'db', name: 'log' }];
}

test('a capped collection that was emptied by being made anew is the recorded one from then on', async () => {
  const pairs = await pairsOf();
  await pairs.record([{ sourceUuid: 'source', destinationUuid: 'first' }], signal);
  await adoptCapped(pairs, [entry], listed('second'), signal);
  expect(pairs.destinationOf('source')).toBe('second');
});

test('a listing that was read before the last creation does not stay in force', async () => {
  const pairs = await pairsOf();
  await pairs.record([{ sourceUuid: 'source', destinationUuid: 'made last' }], signal);
  await adoptCapped(pairs, [entry], listed('made before'), signal);
  await adoptCapped(pairs, [entry], listed('made last'), signal);
  expect(pairs.destinationOf('source')).toBe('made last');
});

test('what stands for another collection of the source is not adopted', async () => {
  const pairs = await pairsOf();
  await pairs.record(
    [
      { sourceUuid: 'source', destinationUuid: 'gone' },
      { sourceUuid: 'other', destinationUuid: 'taken' },
    ],
    signal,
  );
  await adoptCapped(pairs, [entry], listed('taken'), signal);
  expect(pairs.destinationOf('source')).toBe('gone');
});
