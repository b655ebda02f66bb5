import { BSON, UUID } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import type { CallOptions, NodeClient, RawBatch } from '../../../src/cluster/node-client.js';
import { DdlStream, parseDdlEvent } from '../../../src/ddl/ddl-watcher.js';
import { fakeCluster } from '../fake-node-client.js';
import { batchOf } from '../model/calls.js';
import { tokenOf } from '../model/change-events.js';
import { clientWith } from '../model/client-with.js';
import { never, once } from '../model/parts.js';
import { second, standingPlace } from '../model/standing-place.js';

it('lets the server wait long while nothing is to be routed, and only briefly while a commit waits', async () => {
  const waits_ms: unknown[] = [];
  const next = ({ maxTime_ms }: CallOptions) => {
    waits_ms.push(maxTime_ms);
    return Promise.resolve(batchOf([], {}));
  };
  const router = clientWith({
    openCursor: () => Promise.resolve({ first: batchOf([], {}), open: true, next, close: () => Promise.resolve() }),
  });
  let [isIdle, isAwaited] = [false, false];
  const stream = new DdlStream(
    fakeCluster({ router }),
    once,
    () => 1n,
    () => undefined,
    { isIdle: () => isIdle, isAwaited: () => isAwaited },
  );
  await stream.next(never);
  for (isIdle of [false, true, true, false]) await stream.next(never);
  for ([isIdle, isAwaited] of [
    [false, true],
    [true, true],
    [false, false],
  ] as const)
    await stream.next(never);
  expect(waits_ms).toEqual([200, 1_000, 1_000, 200, 50, 50, 200]);
});

it('reads each shard directly before 6.0 if it may, and returns what is below the times of all, in order', async () => {
  const drop = (time: bigint): Uint8Array =>
    BSON.serialize({
      _id: { _data: tokenOf(time) },
      operationType: 'drop',
      clusterTime: timestampOf(time),
      ns: { db: 'shop', coll: 'orders' },
    });
  const opened: string[] = [];
  const clientOf = (label: string, batches: RawBatch[]): NodeClient => {
    const cursor = {
      first: batchOf([], {}),
      open: true,
      next: () => Promise.resolve(batches.shift() ?? batchOf([], {})),
      close: () => Promise.resolve(),
    };
    return clientWith({ label, openCursor: () => Promise.resolve((opened.push(label), cursor)) });
  };
  const shards = new Map([
    [
      'shard0',
      clientOf('shard0', [
        batchOf([drop(5n), drop(30n)], { resumeToken: tokenOf(31n) }),
        batchOf([], { resumeToken: tokenOf(40n) }),
      ]),
    ],
    [
      'shard1',
      clientOf('shard1', [
        batchOf([drop(3n)], { resumeToken: tokenOf(20n) }),
        batchOf([drop(25n)], { resumeToken: tokenOf(40n) }),
      ]),
    ],
  ]);
  const source = fakeCluster({ router: clientOf('router', []), shards });
  const stream = new DdlStream(
    source,
    once,
    () => 1n,
    () => undefined,
    { isIdle: () => false, isAwaited: () => false },
  );
  const steps = [await stream.next(never), await stream.next(never), await stream.next(never)];
  expect(opened).toEqual(['shard0', 'shard1']);
  expect(steps.map(({ events, readBelow }) => [events.map(({ time }) => time), readBelow])).toEqual([
    [[], 0n],
    [[3n, 5n], 20n],
    [[25n, 30n], 40n],
  ]);
});

it('is opened anew at the watermark when it stands still while its cluster goes on, and is named', async () => {
  const drop = BSON.serialize({
    _id: { _data: tokenOf(15n << 32n) },
    operationType: 'drop',
    clusterTime: timestampOf(15n << 32n),
    ns: { db: 'shop', coll: 'orders' },
  });
  const opened: unknown[] = [];
  const standing = { resumeToken: tokenOf(20n << 32n), operationTime: second(50n) };
  const batches = [batchOf([drop], standing)];
  const next = () => Promise.resolve(batches.shift() ?? batchOf([], standing));
  const router = clientWith({
    label: 'cluster0 router',
    openCursor: (_database, command) => {
      const [stage] = command.pipeline as { $changeStream: { startAtOperationTime: unknown } }[];
      opened.push(stage?.$changeStream.startAtOperationTime);
      return Promise.resolve({ first: batchOf([], {}), open: true, next, close: () => Promise.resolve() });
    },
  });
  let watermark = 10n << 32n;
  let forgotten = 0;
  const place = standingPlace();
  const patience = { isIdle: () => false, isAwaited: () => true };
  const source = fakeCluster({ router, version: [8, 0, 10] });
  const stream = new DdlStream(
    source,
    once,
    () => watermark,
    () => (forgotten += 1),
    patience,
    place,
  );
  const times: bigint[] = [];
  for (let step = 0; step < 25; step += 1) {
    const { events, readBelow } = await stream.next(never);
    times.push(...events.map(({ time }) => time));
    if (readBelow > watermark) watermark = readBelow;
  }
  expect(times).toEqual([15n << 32n]);
  expect([opened, forgotten]).toEqual([[second(10n), second(20n)], 2]);
  expect(place.waits.present).toEqual([{ from: 'cluster0 router', what: 'the stream of DDL changes' }]);
  await stream.close();
  expect(place.waits.present).toEqual([]);
});

describe('an event of later servers', () => {
  const [before, after] = ['0a', '0b'].map((byte) => new UUID(byte.repeat(16)));
  const parse = (event: object): unknown =>
    parseDdlEvent(BSON.serialize({ _id: { _data: tokenOf(5n) }, clusterTime: timestampOf(5n), ...event }));
  const ns = { db: 'shop', coll: 'orders' };

  it.each([
    ['as 8.0 moves a collection', { shardKey: { _id: 1 }, oldShardKey: { _id: 1 } }, { keepsKey: true }],
    ['as 8.0 unshards one', { shardKey: { _id: 1 }, oldShardKey: { sk: 1 } }, { keepsKey: false }],
    [
      'with the same fields in another order',
      { shardKey: { a: 1, b: 1 }, oldShardKey: { b: 1, a: 1 } },
      { keepsKey: false },
    ],
    ['with another kind of key', { shardKey: { _id: 'hashed' }, oldShardKey: { _id: 1 } }, { keepsKey: false }],
    ['without the old key', { shardKey: { _id: 1 } }, { keepsKey: true }],
    [
      'with its provenance, as later ones',
      { shardKey: { _id: 1 }, oldShardKey: { _id: 1 }, provenance: 'moveCollection' },
      { keepsKey: true, provenance: 'moveCollection' },
    ],
  ])('shows a resharding: %s', (_what, fields, resharded) => {
    const operationDescription = { reshardUUID: after, unique: false, ...fields };
    const event = { operationType: 'reshardCollection', ns, collectionUUID: before, operationDescription };
    expect(parse(event)).toEqual({
      operation: 'reshardCollection',
      time: 5n,
      uuid: '0a'.repeat(16),
      database: 'shop',
      name: 'orders',
      to: null,
      resharded: { to: '0b'.repeat(16), provenance: null, ...resharded },
    });
  });

  it('shows a resharding that does not name the copy as one of which nothing is known', () => {
    const event = { operationType: 'reshardCollection', ns, collectionUUID: before };
    expect(parse(event)).toMatchObject({ operation: 'reshardCollection', resharded: null });
  });

  it('is read with fewer and with more fields than known', () => {
    expect(parse({ operationType: 'kindOfTomorrow' })).toMatchObject({
      operation: 'kindOfTomorrow',
      time: 5n,
      database: '',
      name: '',
    });
    expect(
      parse({ operationType: 'create', ns, nsType: 'view', operationDescription: { viewOn: 'items', pipeline: [] } }),
    ).toMatchObject({ operation: 'create', uuid: null });
    expect(
      parse({ operationType: 'create', ns, nsType: 'collection', collectionUUID: after, more: { of: 1 } }),
    ).toMatchObject({ operation: 'create', uuid: '0b'.repeat(16) });
  });
});
