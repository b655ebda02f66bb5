import { expect, test } from 'vitest';
import { CollectionAbsentError } from '../../../src/cluster/failure.js';
import { readSource } from '../../../src/reread/reread-batch.js';
import { ByteBudget } from '../../../src/async/waiting.js';
import { RereadSet } from '../../../src/store/reread-set.js';
import { batchOf } from '../model/calls.js';
import { collectionOf, never, rawOf } from '../model/parts.js';
import { clientWith } from '../model/client-with.js';

test('a read of an absent collection is no result', async () => {
  const collection = collectionOf();
  const rereads = new RereadSet(
    { upsert: () => Promise.resolve(), remove: () => Promise.resolve() },
    new ByteBudget(1000),
  );
  await rereads.add([{ collection, id: rawOf(1), reason: 'duplicateKey', time: 1n }]);
  // A server returns an empty batch without a time.
  const openCursor = () =>
    Promise.resolve({
      first: batchOf([], {}),
      open: false,
      next: () => Promise.reject(new Error('no more')),
      close: () => Promise.resolve(),
    });
  const shard = clientWith({ label: 'shard', openCursor });
  await expect(readSource(shard, collection, [...rereads.entries()], 5n, never)).rejects.toThrow(CollectionAbsentError);
});
