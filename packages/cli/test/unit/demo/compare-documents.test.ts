import fc from 'fast-check';
import { BSON, Double, Int32, Long } from 'mongodb';
import { expect, test } from 'vitest';
import { compareDocuments } from '@convoy/cli/demo/compare-documents';

type Fields = Record<string, unknown>;

async function* stream(documents: readonly Fields[]): AsyncGenerator<Uint8Array> {
  for (const document of documents) yield await Promise.resolve(BSON.serialize(document));
}

const compare = (source: readonly Fields[], destination: readonly Fields[]) =>
  compareDocuments(stream(source), stream(destination));

test('equal streams are equal, and their documents and bytes are counted', async () => {
  const documents = [{ _id: 1 }, { _id: 2, text: 'ü' }];
  const bytes = documents.reduce((sum, document) => sum + BSON.serialize(document).length, 0);
  expect(await compare(documents, documents)).toEqual({ documents: 2, bytes, differences: [] });
});

test('a missing document is named, and later ones stay equal', async () => {
  const documents = Array.from({ length: 50 }, (_, _id) => ({ _id, value: _id }));
  const { differences } = await compare(
    documents,
    documents.filter(({ _id }) => _id !== 7),
  );
  expect(differences).toEqual(['document {"$numberInt":"7"} is missing on the destination']);
});

test('an additional document is named', async () => {
  expect((await compare([], [{ _id: 'x' }])).differences).toEqual(['document "x" is only on the destination']);
});

test.each<[string, Fields, Fields, string]>([
  ['a value', { _id: 1, a: 1, b: 2 }, { _id: 1, a: 2, b: 2 }, 'a'],
  ['a missing field', { _id: 1, a: 1 }, { _id: 1 }, 'a'],
  ['the type of a number', { _id: 1, a: new Int32(1) }, { _id: 1, a: new Double(1) }, 'a'],
  ['the width of an integer', { _id: 1, a: new Int32(1) }, { _id: 1, a: Long.fromNumber(1) }, 'a'],
  ['the order of fields', { _id: 1, a: 1, b: 2 }, { _id: 1, b: 2, a: 1 }, 'the order of its fields'],
])('a difference in %s is found', async (_what, source, destination, fields) => {
  expect((await compare([source], [destination])).differences).toEqual([
    `document {"$numberInt":"1"} differs in ${fields}`,
  ]);
});

test('the same _id on two shards is two documents, in any order', async () => {
  const twins = [
    { _id: 1, shard: 'a' },
    { _id: 1, shard: 'b' },
  ];
  expect((await compare(twins, [...twins].reverse())).differences).toEqual([]);
  expect((await compare(twins, [{ _id: 1, shard: 'a' }])).differences).toHaveLength(1);
});

test('exactly the removals and changes are found', async () => {
  const scenario = fc.record({
    size: fc.integer({ min: 1, max: 60 }),
    removed: fc.array(fc.nat(59)),
    changed: fc.array(fc.nat(59)),
  });
  await fc.assert(
    fc.asyncProperty(scenario, async ({ size, removed, changed }) => {
      const source = Array.from({ length: size }, (_, _id) => ({ _id, value: 0 }));
      const destination = source
        .filter(({ _id }) => !removed.includes(_id))
        .map((document) => (changed.includes(document._id) ? { ...document, value: 1 } : document));
      const expected = source.filter(({ _id }) => removed.includes(_id) || changed.includes(_id)).length;
      const { differences } = await compare(source, destination);
      expect(differences).toHaveLength(Math.min(expected, 20));
    }),
  );
});
