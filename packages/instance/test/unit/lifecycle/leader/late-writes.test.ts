import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { BSON, type Document, Timestamp } from 'mongodb';
import { beforeEach, expect, it } from 'vitest';
import { compileNamespaceFilter } from '../../../../src/catalog/namespace-filter.js';
import { readCatalog } from '../../../../src/catalog/read-catalog.js';
import type { CallOptions, ClusterClient } from '../../../../src/cluster/node-client.js';
import { refuseLateWrites } from '../../../../src/lifecycle/leader/late-writes.js';
import type { MigrationRecord } from '../../../../src/store/migration-record.js';
import { FakeCatalogServer } from '../../catalog/fake-catalog-server.js';
import { fakeCluster } from '../../fake-node-client.js';
import { clientWith } from '../../model/client-with.js';
import { depsWith } from '../../model/deps-with.js';
import { taskWith, viewWith } from '../../model/migration-state.js';
import { never, once } from '../../model/parts.js';

const options = parseStartRequest({ source: 'cluster0', destination: 'cluster1', keepBalancer: true });
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

function clusterOf({ client }: FakeCatalogServer): ClusterClient {
  const command = (database: string, sent: Document, call: CallOptions): Promise<Document> => {
    if (sent.aggregate === 1) return Promise.resolve({ cursor: { firstBatch: [] } });
    if (!('appendOplogNote' in sent)) return client.command(database, sent, call);
    times += 1;
    noted();
    return Promise.resolve({ operationTime: new Timestamp({ t: 100, i: times }) });
  };
  const router = clientWith({ command, openCursor: client.openCursor.bind(client) });
  return fakeCluster({ router, kind: 'sharded', shardIds: ['a', 'b'], version: [6, 0, 0] });
}

beforeEach(() => {
  [source, destination] = [new FakeCatalogServer(['a', 'b']), new FakeCatalogServer(['a', 'b'])];
  for (const server of [source, destination]) server.add('shop.orders', { documents: [{ _id: 1 }] });
  [times, looks, pauses, isIdle, noted] = [0, 0, 0, false, () => undefined];
});

/** Passes in the next turn of the event loop. */
function pause(_ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => {
      if (signal?.aborted !== true) pauses += 1;
      resolve();
    });
  });
}

/** Looks after the collections have got new UUIDs. */
async function look(): Promise<void> {
  const catalog = await readCatalog(clusterOf(source), compileNamespaceFilter(options), never);
  for (const collection of source.databases.get('shop')?.collections.values() ?? []) collection.uuid = new BSON.UUID();
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

it('takes a drop for a move when a second look, after the reading of the catalog, finds no writes', async () => {
  found = [{ eventsAbove: 0, createsAndDrops: 1 }];
  await look();
  expect(looks).toBe(2);
});

it('finds that a user who had dropped a collection has filled it after the first look', async () => {
  found = [
    { eventsAbove: 0, createsAndDrops: 1 },
    { eventsAbove: 1, createsAndDrops: 1 },
  ];
  await expect(look()).rejects.toMatchObject({ error: 'sourceWritesAfterCommit' });
});
