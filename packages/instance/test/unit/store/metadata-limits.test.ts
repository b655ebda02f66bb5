import { Binary, BSON, type Document } from 'mongodb';
import { beforeEach, expect, it } from 'vitest';
import { Metadata } from '../../../src/store/metadata.js';
import { TaskStorage, storeEntries } from '../../../src/store/task-storage.js';
import { never, once } from '../model/parts.js';
import { clientWith } from '../model/client-with.js';

/** A command is one BSON document of at most 16 MB and 16 KB. */
const commandBytesMax = 16 * 2 ** 20 + 16 * 1024;

let sent: Document[];
let metadata: Metadata;

beforeEach(() => {
  sent = [];
  const command = (_database: string, document: Document): Promise<Document> => {
    sent.push(document);
    return Promise.resolve({ ok: 1, n: 1, cursor: { firstBatch: [] } });
  };
  metadata = new Metadata(clientWith({ label: 'router', command }), once);
});

function statementsSent(): Document[] {
  for (const command of sent) expect(BSON.calculateObjectSize(command)).toBeLessThanOrEqual(commandBytesMax);
  return sent.flatMap(({ updates }) => (updates as Document[] | undefined) ?? []);
}

it('entries of large collections are stored in commands that the server accepts', async () => {
  const sizes = [7_900_000, 15_900_000, 100, 8_000_000, 8_000_000, 15_900_000];
  await storeEntries(
    metadata,
    1,
    sizes.map((size) => new Binary(new Uint8Array(size))),
    never,
  );
  expect(statementsSent().map(({ u }) => (u as { entry: Binary }).entry.length())).toEqual(sizes);
});

it('many documents to re-read with long _ids are stored and removed in commands that the server accepts', async () => {
  const storage = new TaskStorage(metadata, 'shard0', 1, never);
  const ids = Array.from({ length: 1_000 }, (_, n) => `${n} ${'x'.repeat(30_000)}`);
  await storage.upsert(ids.map((_id) => ({ _id })));
  expect(statementsSent()).toHaveLength(ids.length);
  sent = [];
  await storage.remove(ids);
  statementsSent();
  expect(sent.length).toBeGreaterThan(1);
});

it('the partitions of very many collections are claimed in commands of fewer than 100,000 statements', async () => {
  const uuids = Array.from({ length: 25_000 }, (_, n) => n.toString(16).padStart(32, '0'));
  await new TaskStorage(metadata, 'shard0', 1, never).claim(uuids);
  expect(statementsSent().filter(({ upsert }) => upsert === true)).toHaveLength(uuids.length);
  for (const { updates } of sent) expect(((updates as unknown[] | undefined) ?? []).length).toBeLessThanOrEqual(10_000);
});
