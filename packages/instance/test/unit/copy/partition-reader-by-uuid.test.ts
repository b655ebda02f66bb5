import { Binary, type Document } from 'mongodb';
import { expect, test } from 'vitest';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import type { NodeClient } from '../../../src/cluster/node-client.js';
import { PartitionReader } from '../../../src/copy/partition-reader.js';
import { readSource } from '../../../src/reread/reread-batch.js';
import { PartitionTable } from '../../../src/store/partition-table.js';
import { type RereadEntry, RereadSet } from '../../../src/store/reread-set.js';
import { ByteBudget } from '../../../src/async/waiting.js';
import type { SyncedCollection } from '../../../src/store/synced-collection.js';
import { batchOf } from '../model/calls.js';
import { collectionOf, never, rawOf } from '../model/parts.js';
import { clientWith } from '../model/client-with.js';
import { copyDeps } from './copy-fixture.js';

/** A client that records the commands of its cursors, which are empty. */
function clientNoting(finds: Document[]): NodeClient {
  const openCursor = (_database: string, command: Document) => {
    finds.push(command);
    return Promise.resolve({
      first: batchOf([], { atClusterTime: timestampOf(5n) }),
      open: false,
      next: () => Promise.reject(new Error('no more')),
      close: () => Promise.resolve(),
    });
  };
  return clientWith({ label: 'shard', openCursor });
}

async function targetsOf(collection: SyncedCollection): Promise<unknown[]> {
  const finds: Document[] = [];
  const [partition] = PartitionTable.fresh(collection, [], () => Promise.resolve()).partitions;
  if (partition === undefined) throw new Error('a table has a partition');
  const shard = clientNoting(finds);
  const deps = copyDeps({ shard });
  await new PartitionReader(collection, partition, deps, 5n).next(never);
  await readSource(shard, collection, await entriesOf(collection), 5n, never);
  return finds.map((find) =>
    'collectionUUID' in find
      ? { find: find.find as unknown, collectionUUID: find.collectionUUID as unknown }
      : (find.find as unknown),
  );
}

async function entriesOf(collection: SyncedCollection): Promise<RereadEntry[]> {
  const rereads = new RereadSet(
    { upsert: () => Promise.resolve(), remove: () => Promise.resolve() },
    new ByteBudget(1000),
  );
  await rereads.add([{ collection, id: rawOf(1), reason: 'duplicateKey', time: 1n }]);
  return [...rereads.entries()];
}

test('a shard is read by collection UUID, a router by name, from 6.0 with a check of the UUID', async () => {
  const collection = collectionOf();
  const uuid = new Binary(Buffer.from(collection.uuid, 'hex'), Binary.SUBTYPE_UUID);
  expect(await targetsOf(collection)).toEqual([uuid, uuid]);
  expect(await targetsOf(collectionOf({ readBy: 'name' }))).toEqual([collection.name, collection.name]);
  const named = { find: collection.name, collectionUUID: uuid };
  expect(await targetsOf(collectionOf({ readBy: 'nameOfUuid' }))).toEqual([named, named]);
});
