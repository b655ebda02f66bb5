import { type Document, MaxKey } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import { classify } from '../../../src/cluster/failure.js';
import { SplitCluster } from './split-cluster.js';
import { decoded, timeAfterWrites } from './what-is-read.js';

describe('an ordered read through a router', () => {
  /** Everything in the order of `_id`, reopened after the last document if a cursor is lost. */
  async function readInOrder(
    { cluster, signal }: SplitCluster,
    batchSize: number,
    after: bigint,
  ): Promise<{ documents: Document[]; lost: number }> {
    const documents: Document[] = [];
    for (let lost = 0; ; lost += 1) {
      const last = documents.pop()?.['_id'] as string | undefined;
      const range = { hint: { _id: 1 }, sort: { _id: 1 }, ...(last === undefined ? {} : { min: { _id: last } }) };
      const readConcern = { level: 'snapshot', atClusterTime: timestampOf(after) };
      const cursor = await cluster.router.openCursor(
        'db',
        { find: 'coll', ...range, batchSize, readConcern },
        { signal },
      );
      const failure = await (async () => {
        documents.push(...decoded(cursor.first));
        while (cursor.open) documents.push(...decoded(await cursor.next({ signal })));
      })().then(
        () => null,
        (error: unknown) => error,
      );
      await cursor.close();
      if (failure === null) return { documents, lost };
      expect(classify(failure)).toBe('cursorLost');
    }
  }

  test('brings every field, also those whose names begin with $', async () => {
    await using servers = await SplitCluster.start({ direct: true });
    const inserted = Array.from({ length: 6 }, (_, n) => ({
      _id: `id ${n}`,
      sk: n % 2 === 0 ? -1 : 1,
      $dollar: { n },
      'dotted.name': n,
      $last: n,
    }));
    await servers.insert(...inserted);
    expect(await readInOrder(servers, 2, await timeAfterWrites(servers))).toEqual({ documents: inserted, lost: 0 });
  });

  test.each([
    ['5.0', 1],
    ['5.0', 2],
    ['5.0', 100],
    ['8.0', 1],
    ['8.0', 2],
    ['8.0', 100],
  ] as const)(
    'returns documents that are too large to be sorted together with their _id: %s, in batches of %i',
    async (release, batchSize) => {
      await using servers = await SplitCluster.start({ direct: true, release });
      const key_bytes = 100_000;
      const small = ['a', 'b', 'h', 'n', new MaxKey()].map((_id, n) => ({ _id, sk: n % 2 === 0 ? -1 : 1, $dollar: n }));
      const large = [
        ['g', 1],
        ['m', -1],
      ].map(([name, sk]) => ({ _id: String(name).repeat(key_bytes), sk }));
      for (const document of [...small, ...large]) await servers.insert(document);
      // From 6.0 on servers refuse to insert the whole of them at once: it does not fit into one entry beside its key.
      for (const document of large)
        await servers.extend(document, { text: 'x'.repeat(16 * 2 ** 20 - key_bytes - 100) });
      const { documents } = await readInOrder(servers, batchSize, await timeAfterWrites(servers));
      expect(
        documents.map(({ _id, sk, $dollar, text }) => [
          typeof _id === 'string' ? _id[0] : 'MaxKey',
          sk as number,
          $dollar as number,
          (text as string | undefined)?.length,
        ]),
      ).toEqual([
        ['a', -1, 0, undefined],
        ['b', 1, 1, undefined],
        ['g', 1, undefined, 16 * 2 ** 20 - key_bytes - 100],
        ['h', -1, 2, undefined],
        ['m', -1, undefined, 16 * 2 ** 20 - key_bytes - 100],
        ['n', 1, 3, undefined],
        ['MaxKey', -1, 4, undefined],
      ]);
    },
  );
});
