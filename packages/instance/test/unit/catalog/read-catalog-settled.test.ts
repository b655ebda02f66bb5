import { BSON, type Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import type { InconsistentIndex } from '../../../src/catalog/namespace.js';
import { compileNamespaceFilter } from '../../../src/catalog/namespace-filter.js';
import { readSettledCatalog } from '../../../src/catalog/read-catalog.js';
import { FakeCatalogServer } from './fake-catalog-server.js';
import { fakeCluster, FakeNodeClient } from '../fake-node-client.js';

const { signal } = new AbortController();
const everything = compileNamespaceFilter({ includeNamespaces: [], excludeNamespaces: [] });
const chunks = [
  { min: { k: new BSON.MinKey() }, max: { k: 0 }, shard: 'shard0' },
  { min: { k: 0 }, max: { k: new BSON.MaxKey() }, shard: 'shard1' },
];
const id = { v: 2, key: { _id: 1 }, name: '_id_' };
const a = { v: 2, key: { a: 1 }, name: 'a_1' };
const b = { v: 2, key: { b: 1 }, name: 'b_1' };

/**
 * Reads a catalog of one collection whose second shard shows these indexes, one list per read, the last one from then
 * on.
 */
const read = (first: Document[], ...looks: Document[][]) => readKnowing([], first, ...looks);

/** The same, when some disagreements have lasted before. */
async function readKnowing(
  known: InconsistentIndex[],
  first: Document[],
  ...looks: Document[][]
): Promise<{ inconsistent: string[]; sleeps: number }> {
  const server = new FakeCatalogServer(['shard0', 'shard1']);
  server.addSharded('app.c', { k: 1 }, false, chunks);
  const shard0 = new FakeNodeClient('shard0', { listIndexes: () => ({ cursor: { firstBatch: first } }) });
  const shard1 = new FakeNodeClient('shard1', {
    listIndexes: () => ({ cursor: { firstBatch: looks.length > 1 ? looks.shift() : looks[0] } }),
  });
  let sleeps = 0;
  const clock = {
    sleep: () => {
      sleeps += 1;
      return Promise.resolve();
    },
  };
  const source = fakeCluster({
    router: server.client,
    shards: new Map([
      ['shard0', shard0],
      ['shard1', shard1],
    ]),
  });
  const { inconsistentIndexes } = await readSettledCatalog(source, everything, clock, signal, known);
  return { inconsistent: inconsistentIndexes.map(({ index }) => index), sleeps };
}

describe('indexes that differ between shards', () => {
  it('are read once if there are none', async () => {
    expect(await read([id], [id])).toEqual({ inconsistent: [], sleeps: 0 });
  });

  it('disappear while a collection is recreated, or an index committed, on one shard after the other', async () => {
    expect(await read([id], [], [id])).toEqual({ inconsistent: [], sleeps: 1 });
    expect(await read([id, a], [id], [id], [id, a])).toEqual({ inconsistent: [], sleeps: 2 });
  });

  it('count if every read has found them', async () => {
    expect(await read([id, a], [id])).toEqual({ inconsistent: ['a_1'], sleeps: 3 });
  });

  it('are read once if they have lasted before', async () => {
    const known = [{ namespace: 'app.c', index: 'a_1', shards: ['shard1'], forms: [] }];
    expect(await readKnowing(known, [id, a], [id])).toEqual({ inconsistent: ['a_1'], sleeps: 0 });
    expect((await readKnowing(known, [id, a, b], [id])).sleeps).toBe(3);
  });

  it('do not count if others have replaced them', async () => {
    expect(await read([id, a, b], [id, b], [id, a])).toEqual({ inconsistent: [], sleeps: 1 });
  });
});
