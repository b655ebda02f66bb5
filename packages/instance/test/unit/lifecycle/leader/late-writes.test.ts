import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { BSON, type Document, Timestamp } from 'mongodb';
import { beforeEach, expect, it } from 'vitest';
import { compileNamespaceFilter } from '../../../../src/catalog/namespace-filter.js';
import { readCatalog } from '../../../../src/catalog/read-catalog.js';
import type { CallOptions, ClusterClient } from '../../../../src/cluster/node-client.js';
import { refuseLateWrites } from '../../../../src/lifecycle/leader/late-writes.js';
import type { MigrationRecord } from '../../../../src/store/migration-record.js';
import { FakeCatalogServer } from '../../catalog/fake-catalog-server.js';
import { FakeNodeClient, fakeCluster } from '../../fake-node-client.js';
import { clientWith } from '../../model/client-with.js';
import { depsWith } from '../../model/deps-with.js';
import { taskWith, viewWith } from '../../model/migration-state.js';
import { never, once } from '../../model/parts.js';

const start = { source: 'cluster0', destination: 'cluster1' };
let keepBalancer: boolean;
let kind: ClusterClient['kind'];
/** Looks at what servers move that still show something. */
let moving: number;
/** What happens on the source once the commit is sealed, and while the leader pauses. */
let happens: { sinceCommit: () => void; inPause: () => void };
let source: FakeCatalogServer;
let destination: FakeCatalogServer;
let times: number;
let looks: number;
/** Pauses that passed in full. */
let pauses: number;
/** Whether the task's stream needs another note to pass the time of a look. */
let isIdle: boolean;
/** The task's stream has read up to the last note. */
let noted: () => void;
/** What a task finds at each look. */
let found: { eventsAbove: number; createsAndDrops: number }[];

function clusterOf({ client, shards }: FakeCatalogServer): ClusterClient {
  const command = (database: string, sent: Document, call: CallOptions): Promise<Document> => {
    if (sent.aggregate === 1) return Promise.resolve({ cursor: { firstBatch: [] } });
    if ('listShards' in sent)
      return Promise.resolve({ shards: shards.map(({ _id }) => ({ _id, host: `${_id}/host:1`, state: 1 })) });
    if (!('appendOplogNote' in sent)) return client.command(database, sent, call);
    times += 1;
    noted();
    return Promise.resolve({ operationTime: new Timestamp({ t: 100, i: times }) });
  };
  const operations = new FakeNodeClient('router', () => ({
    cursor: { firstBatch: (moving -= 1) >= 0 ? [{ desc: 'MovePrimaryCoordinator', ns: 'shop' }] : [] },
  }));
  const openCursor: typeof client.openCursor = (database, sent, call) =>
    (sent.aggregate === 1 ? operations : client).openCursor(database, sent, call);
  const router = clientWith({ command, openCursor });
  return fakeCluster({ router, kind, shardIds: ['a', 'b'], version: [6, 0, 0] });
}

beforeEach(() => {
  [source, destination] = [new FakeCatalogServer(['a', 'b']), new FakeCatalogServer(['a', 'b'])];
  for (const server of [source, destination]) server.add('shop.orders', { documents: [{ _id: 1 }] });
  [times, looks, pauses, isIdle, noted] = [0, 0, 0, false, () => undefined];
  [kind, keepBalancer, moving, happens] = [
    'sharded',
    true,
    0,
    { sinceCommit: () => undefined, inPause: () => undefined },
  ];
});

/** Passes in the next turn of the event loop. */
function pause(_ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => {
      if (signal?.aborted !== true) pauses += 1;
      happens.inPause();
      resolve();
    });
  });
}

/** Looks after the collections have got new UUIDs. */
async function look(): Promise<void> {
  const options = parseStartRequest({ ...start, ...(keepBalancer && { keepBalancer }) });
  const catalog = await readCatalog(clusterOf(source), compileNamespaceFilter(options), never);
  for (const collection of source.databases.get('shop')?.collections.values() ?? []) collection.uuid = new BSON.UUID();
  happens.sinceCommit();
  const task = taskWith();
  const view = { ...viewWith({ options }), tasks: new Map([['a', task]]) };
  const deps = depsWith({
    leaderEpoch: 1,
    runtime: { retrying: once, clock: { monotonic_ms: () => 0, sleep: pause } },
    source: clusterOf(source),
    destination: clusterOf(destination),
    fleet: { wake: () => undefined },
    watch: {
      view,
      refresh: () => Promise.resolve(view),
      until: (condition) => (condition(view) ? Promise.resolve(view) : new Promise(() => undefined)),
    },
    records: {
      updateAsLeader: (_epoch: number, { lastLook }: Partial<MigrationRecord>) => {
        const news = found[Math.min(looks, found.length - 1)];
        if (news === undefined || !lastLook) throw new Error('there is a look, and news of it');
        looks += 1;
        noted = () => (task.drained = { round: 1, deletedIn: [], ...news, lookedTo: lastLook });
        if (!isIdle) noted();
        view.record.lastLook = lastLook;
        return Promise.resolve();
      },
    },
  });
  await refuseLateWrites(deps, catalog, never);
}

it('wakes the streams of idle shards at once', async () => {
  isIdle = true;
  found = [{ eventsAbove: 0, createsAndDrops: 0 }];
  await look();
  expect([looks, pauses]).toEqual([1, 0]);
});

it('takes no second look when the first has found nothing', async () => {
  found = [{ eventsAbove: 0, createsAndDrops: 0 }];
  await look();
  expect(looks).toBe(1);
});

const orders = () => source.databases.get('shop')?.collections;

it.each([true, false])(
  'takes a drop for a move when a second look, after the reading of the catalog, finds no writes; keepBalancer %s',
  async (keeps) => {
    keepBalancer = keeps;
    found = [{ eventsAbove: 0, createsAndDrops: 1 }];
    await look();
    expect(looks).toBe(2);
  },
);

it('finds that a user who had dropped a collection has filled it after the first look', async () => {
  found = [
    { eventsAbove: 0, createsAndDrops: 1 },
    { eventsAbove: 1, createsAndDrops: 1 },
  ];
  await expect(look()).rejects.toMatchObject({ error: 'sourceWritesAfterCommit' });
});

it('reads the catalog again as long as servers move something: in between a collection has no place', async () => {
  found = [{ eventsAbove: 0, createsAndDrops: 1 }];
  moving = 3;
  const former = orders()?.get('orders');
  happens.sinceCommit = () => orders()?.delete('orders');
  happens.inPause = () => former && orders()?.set('orders', former);
  await look();
  expect([looks, pauses]).toEqual([2, 1]);
});

it('finds a drop by a user although servers move something, once they are done', async () => {
  found = [{ eventsAbove: 0, createsAndDrops: 1 }];
  moving = 5;
  happens.sinceCommit = () => orders()?.delete('orders');
  await expect(look()).rejects.toMatchObject({ error: 'sourceWritesAfterCommit' });
  expect([pauses > 0, moving]).toEqual([true, -2]);
});

it.each([
  ['another key', { k: 1, _id: 1 }],
  ['no key', null],
])('names a collection that was resharded, and has %s now', async (_what, key) => {
  found = [{ eventsAbove: 0, createsAndDrops: 1 }];
  const chunk = { min: { k: 0 }, max: { k: 1 }, shard: 'a', lastmod: new Timestamp({ t: 1, i: 0 }) };
  source.addSharded('shop.orders', { k: 1 }, false, [chunk], { documents: [{ _id: 1 }] });
  happens.sinceCommit = () => {
    source.sharded.delete('shop.orders');
    if (key !== null) source.addSharded('shop.orders', key, false, [chunk], { documents: [{ _id: 1 }] });
  };
  await expect(look()).rejects.toMatchObject({
    error: 'shardKeyChanged',
    errorDescription: expect.stringContaining('shop.orders') as unknown,
  });
});

it('compares the shards where something has moved: nobody has read the last changes of one that has left', async () => {
  found = [{ eventsAbove: 0, createsAndDrops: 1 }];
  happens.sinceCommit = () => source.shards.pop();
  await expect(look()).rejects.toMatchObject({ error: 'topologyChanged' });
});

it('takes no drop of a replica set for a move', async () => {
  kind = 'replicaSet';
  found = [{ eventsAbove: 0, createsAndDrops: 1 }];
  await expect(look()).rejects.toMatchObject({ error: 'sourceWritesAfterCommit' });
  expect(looks).toBe(1);
});
