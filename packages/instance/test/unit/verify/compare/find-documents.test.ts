import type { Document } from 'mongodb';
import { expect, it } from 'vitest';
import { findDocuments, lookupName } from '../../../../src/verify/compare/find-documents.js';
import { FakeNodeClient } from '../../fake-node-client.js';
import { never, rawOf } from '../../model/parts.js';

const idBytes = 5 * 2 ** 20;

it('looks documents with large _ids up in commands that a server accepts', async () => {
  const ids = ['a', 'b', 'c'].map((letter) => letter.repeat(idBytes));
  const client = new FakeNodeClient('router', {
    find: (_database, { filter }) => {
      const wanted = ((filter as Document)._id as { $in: string[] }).$in;
      return { cursor: { firstBatch: wanted.filter((id) => id !== ids[1]).map((_id) => ({ _id })) } };
    },
  });
  const lookup = { client, database: 'shop', collection: 'orders', after: 1n, signal: never };
  const raws = ids.map((id) => rawOf(id));
  const found = await findDocuments(lookup, raws);
  expect(client.sent).toHaveLength(3);
  expect(raws.map((id) => found.get(lookupName(id))?.documents?.length)).toEqual([1, 0, 1]);
});
