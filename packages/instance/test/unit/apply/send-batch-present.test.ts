import { BSON, Double } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { presentOn } from '../../../src/apply/send-batch.js';
import type { BatchItem } from '../../../src/apply/write-batch.js';
import { elementType } from '../../../src/bson/element-type.js';
import { RawValue } from '../../../src/bson/scan.js';
import { fullKeyFilter } from '../../../src/bson/shard-key.js';
import { FakeNodeClient } from '../fake-node-client.js';
import { bytesOf, collectionOf, never, rawOf } from '../model/parts.js';

const collection = collectionOf();

function itemOf(id: unknown, sk: number): BatchItem {
  const filter = fullKeyFilter(bytesOf({ _id: id, sk }), collection.destinationKey, rawOf(id));
  return { collection, id: rawOf(id), workerClass: '', changes: 1, time: 1n, action: { kind: 'delete', filter } };
}

function clientOf(...documents: BSON.Document[]): FakeNodeClient {
  return new FakeNodeClient('destination', { find: () => ({ cursor: { firstBatch: documents } }) });
}

describe('the query for documents on the destination', () => {
  it('is by _id, reads only keys, and distinguishes documents by their full keys', async () => {
    const client = clientOf({ _id: 1, sk: 1 }, { _id: 2, sk: 7 }, { _id: 3, sk: 1 });
    const items = [itemOf(1, 1), itemOf(2, 1), itemOf(3, 1), itemOf(4, 1)];
    const present = await presentOn(client, (_what, run) => run())(collection, items, never);
    expect(items.map((item) => present?.has(item))).toEqual([true, false, true, false]);
    expect(client.sent).toMatchObject([
      {
        database: collection.database,
        command: {
          find: collection.name,
          filter: { _id: { $in: [1, 2, 3, 4] } },
          projection: { sk: 1, _id: 1 },
          readConcern: { level: 'majority' },
        },
      },
    ]);
  });

  it('reads `_id` alone where it contains the shard key', async () => {
    const client = clientOf({ _id: 1, sk: 1 });
    const key = [
      { field: 'sk', hashed: false },
      { field: '_id.x', hashed: false },
    ];
    await presentOn(client, (_what, run) => run())(collectionOf({ destinationKey: key }), [itemOf(1, 1)], never);
    expect(client.sent.map(({ command }) => command.projection as unknown)).toEqual([{ sk: 1, _id: 1 }]);
  });

  it('does not find an _id of another numeric type: the caller sees that the counts differ', async () => {
    const items = [itemOf(1, 1)];
    expect(
      (await presentOn(clientOf({ _id: new Double(1), sk: 1 }), (_what, run) => run())(collection, items, never))?.size,
    ).toBe(0);
  });

  it('is impossible for an _id that the driver cannot send', async () => {
    const pointer = { ...itemOf(1, 1), id: new RawValue(elementType.dbPointer, new Uint8Array(17)) };
    expect(await presentOn(clientOf(), (_what, run) => run())(collection, [pointer], never)).toBeNull();
  });
});
