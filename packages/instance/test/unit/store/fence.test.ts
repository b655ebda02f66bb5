import { expect, test } from 'vitest';
import { createFence } from '../../../src/store/fence.js';
import { FakeNodeClient } from '../fake-node-client.js';

const { signal } = new AbortController();

test('a fence document that a router could not write is a failure, even when the reply is ok', async () => {
  const refused = { index: 1, code: 82, errmsg: 'no progress was made executing batch write op' };
  const client = new FakeNodeClient('router', { update: () => ({ ok: 1, n: 1, writeErrors: [refused] }) });
  await expect(createFence(client, 'replicaSet', ['s0', 's1'], { signal })).rejects.toMatchObject({
    name: 'MetadataWriteError',
    code: 82,
  });
});

test('the fence has a document for every shard', async () => {
  const client = new FakeNodeClient('router', { update: () => ({ ok: 1, n: 2 }) });
  await createFence(client, 'replicaSet', ['s0', 's1'], { signal });
  expect(client.sent.map(({ command }) => (command['updates'] as { q: unknown }[]).map(({ q }) => q))).toEqual([
    [{ _id: 0 }, { _id: 1 }],
  ]);
});
