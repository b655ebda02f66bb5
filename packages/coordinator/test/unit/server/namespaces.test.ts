import { expect, test } from 'vitest';
import type { PublishedDetails } from '@convoy/api/fleet/published-details';
import { mergeNamespaces, namespaceOrders, pageOfNamespaces } from '../../../src/server/namespaces.js';

const none = { collections: 0, totalBytes: 0, copiedBytes: 0, copiedDocuments: 0 };

function part(namespace: string, totalBytes: number, copying = 0) {
  return {
    namespace,
    totalBytes,
    copiedBytes: totalBytes / 2,
    copiedDocuments: 3,
    partitions: { waiting: 1, starting: 0, copying, done: 2 },
  };
}

function merge(instances: readonly PublishedDetails['namespaces'][]): ReturnType<typeof mergeNamespaces> {
  return mergeNamespaces(
    (async function* () {
      await Promise.resolve();
      for (const [at, details] of instances.entries()) yield [`shard${at}`, details];
    })(),
  );
}

test("adds up the instances' parts; active collections first, then by size", async () => {
  const merged = await merge([
    { rows: [part('a.small', 10), part('a.large', 100)], others: none },
    { rows: [part('a.large', 100), part('a.active', 2, 1)], others: none },
  ]);
  expect(merged.rows.map(({ namespace, totalBytes, instances }) => [namespace, totalBytes, instances])).toEqual([
    ['a.active', 2, 1],
    ['a.large', 200, 2],
    ['a.small', 10, 1],
  ]);
  expect(merged.rows[1]).toMatchObject({ copiedBytes: 100, copiedDocuments: 6, partitions: { waiting: 2, done: 4 } });
});

test('the order of a copy and its reason stand once for all instances that have them', async () => {
  const random = { order: 'natural', reason: 'randomIds', description: 'Copied in natural order.' } as const;
  const left = { order: '_id', reason: 'changes', description: 'Copied in _id order.' } as const;
  const { rows } = await merge(
    [random, left, random].map((order) => ({ rows: [{ ...part('a.b', 1), copyOrders: [order] }], others: none })),
  );
  expect(rows.map(({ copyOrders }) => copyOrders)).toEqual([[random, left]]);
});

test('a page has the sums of the rest, unlisted ones included', async () => {
  const rows = Array.from({ length: 500 }, (_, at) => part(`db.c${at}`, 1_000 - at));
  const merged = await merge([
    { rows, others: { collections: 7, totalBytes: 70, copiedBytes: 7, copiedDocuments: 1 } },
  ]);
  const page = pageOfNamespaces(merged, { offset: 100, limit: 1_000, search: '', sort: 'activity' });
  expect(page).toMatchObject({ total: 507, matching: 500, offset: 100 });
  expect(page.rows).toHaveLength(200);
  expect(page.others.collections).toBe(307);
  expect(page.others.totalBytes + page.rows.reduce((sum, { totalBytes }) => sum + totalBytes, 0)).toBe(
    rows.reduce((sum, { totalBytes }) => sum + totalBytes, 70),
  );
  expect(
    pageOfNamespaces(merged, { offset: 0, limit: 50, search: 'C49', sort: 'activity' }).rows.map(
      ({ namespace }) => namespace,
    ),
  ).toContain('db.c49');
});

test.each([
  ['activity', ['a.none', 'b.half', 'c.whole']],
  ['name', ['a.none', 'b.half', 'c.whole']],
  ['size', ['c.whole', 'b.half', 'a.none']],
  ['percent', ['a.none', 'b.half', 'c.whole']],
  ['documents', ['c.whole', 'b.half', 'a.none']],
] as const)('collections come in the order of %s', (sort, expected) => {
  const partitions = { waiting: 0, starting: 0, copying: 0, done: 1 };
  const row = (namespace: string, totalBytes: number, copiedBytes: number, copiedDocuments: number) => ({
    ...{ namespace, totalBytes, copiedBytes, copiedDocuments, partitions, instances: 1 },
  });
  const rows = [row('a.none', 10, 0, 0), row('b.half', 20, 10, 1), row('c.whole', 30, 30, 2)];
  const unnamed = { collections: 0, totalBytes: 0, copiedBytes: 0, copiedDocuments: 0 };
  const page = pageOfNamespaces({ rows, unnamed }, { offset: 0, limit: 10, search: '', sort });
  expect(page.rows.map(({ namespace }) => namespace)).toEqual(expected);
  expect(namespaceOrders).toContain(sort);
});
