import { BSON, type Document, Timestamp } from 'mongodb';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { CatalogEntry } from '../../../../src/catalog/namespace.js';
import { storedEntry } from '../../../../src/catalog/catalog-bytes.js';
import type { CallOptions, ClusterClient, RawBatch } from '../../../../src/cluster/node-client.js';
import { DdlLeader } from '../../../../src/lifecycle/leader/ddl-leader.js';
import type { LeaderDependencies } from '../../../../src/lifecycle/migration/migration-dependencies.js';
import { storeEntries } from '../../../../src/store/task-storage.js';
import { UuidPairs } from '../../../../src/store/ddl-journal.js';
import { Condition } from '../../../../src/async/waiting.js';
import { batchOf, serverError } from '../../model/calls.js';
import { tokenOf } from '../../model/change-events.js';
import { clientWith } from '../../model/client-with.js';
import { never, settled } from '../../model/parts.js';
import { fakeCluster, FakeNodeClient } from '../../fake-node-client.js';
import { depsOf, leaderEpoch, syncingMigration } from './leader-fixture.js';

const [sourceUuid, destinationUuid] = ['0a', '1a'].map((byte) => byte.repeat(16)) as [string, string];
const owner = { syncID: 'x', incarnation: 'x' };

let deps: LeaderDependencies;
let leader: DdlLeader;
let tokens: bigint[];
let advanced: Condition;
let dropped: boolean;
/** So many attempts to drop the collection meet an index build. */
let builds: number;
let stop: AbortController;
let running: Promise<unknown>;

/** A source without events, whose stream advances when the test says so. */
function idleSource(): ClusterClient {
  const next = async ({ signal }: CallOptions): Promise<RawBatch> => {
    await advanced.until(() => tokens.length > 0, signal);
    return batchOf([], { resumeToken: tokenOf(tokens.shift() ?? 0n) });
  };
  const openCursor = () =>
    Promise.resolve({ first: batchOf([], {}), open: true, next, close: () => Promise.resolve() });
  const command = (): Promise<Document> => Promise.resolve({ operationTime: new Timestamp({ t: 100, i: 1 }) });
  const client = clientWith({ label: 'source', openCursor, command });
  return fakeCluster({ router: client, kind: 'replicaSet', shardIds: ['rs'], shards: new Map([['rs', client]]) });
}

function destinationWithOrders(): ClusterClient {
  const rows = () =>
    dropped
      ? []
      : [{ name: 'orders', type: 'collection', options: {}, info: { uuid: new BSON.UUID(destinationUuid) } }];
  const client = new FakeNodeClient('destination', {
    listCollections: () => ({ cursor: { firstBatch: rows() } }),
    drop: () => {
      builds -= 1;
      if (builds >= 0) throw serverError(12587);
      dropped = true;
      return {};
    },
  });
  return fakeCluster({ router: client, kind: 'replicaSet', shardIds: ['rs'] });
}

beforeEach(async () => {
  [dropped, builds] = [false, 0];
  [tokens, advanced] = [[], new Condition()];
  stop = new AbortController();
  const stored = await syncingMigration(['rs', 'rs2']);
  for (const id of ['rs', 'rs2']) await stored.taskRecords.take(id, owner, 1, never);
  const entry: CatalogEntry = {
    database: 'shop',
    name: 'orders',
    type: 'collection',
    uuid: sourceUuid,
    options: {},
    indexes: [],
    sharding: null,
    primaryShard: 'rs',
    sizeBytes: 0,
    documentCount: 0,
  };
  await storeEntries(stored.metadata, leaderEpoch, [storedEntry(entry)], never);
  await (await UuidPairs.read(stored.metadata, leaderEpoch, never)).record([{ sourceUuid, destinationUuid }], never);
  await stored.journal.append(
    leaderEpoch,
    1,
    {
      operation: 'drop',
      uuid: sourceUuid,
      database: 'shop',
      name: 'orders',
      to: null,
      droppedUuid: null,
      time: new Timestamp({ t: 95, i: 1 }),
    },
    never,
  );
  deps = await depsOf(stored, { source: idleSource(), destination: destinationWithOrders() });
  leader = await DdlLeader.take(deps, never);
  running = leader.run(stop.signal).catch(() => undefined);
});

afterEach(async () => {
  stop.abort();
  await running;
});

async function acknowledgements(id: string): Promise<void> {
  await deps.taskRecords.update(id, 1, { acknowledged: 1 }, never);
  await deps.watch.refresh(never);
  for (let turn = 0; turn < 50; turn += 1) await settled();
}

it('a change is applied only when every task has acknowledged it', async () => {
  for (let turn = 0; turn < 50; turn += 1) await settled();
  expect(dropped).toBe(false);
  await acknowledgements('rs');
  expect(dropped).toBe(false);
  await acknowledgements('rs2');
  await expect.poll(async () => (await deps.watch.refresh(never)).record.ddlChanges).toEqual({ known: 1, done: 1 });
  expect(dropped).toBe(true);
});

it('a change that waits for an index build is said to wait, once, and is applied afterwards', async () => {
  builds = 2;
  const waits = vi.spyOn(deps.runtime.logger, 'warn');
  for (const id of ['rs', 'rs2']) await acknowledgements(id);
  await expect.poll(() => dropped).toBe(true);
  expect(waits.mock.calls.map(([fields]) => fields)).toEqual([
    { event: 'ddlChangeWaits', ordinal: 1, operation: 'drop', database: 'shop', name: 'orders' },
  ]);
});

it('no DDL watermark beyond the commit time is stored until a later one counts', async () => {
  const time = (seconds: number): bigint => BigInt(seconds) << 32n;
  const stored = async (): Promise<bigint | undefined> =>
    (await deps.records.read(never))?.ddlWatermark?.time.toBigInt();
  const reads = (seconds: number): void => {
    tokens.push(time(seconds));
    advanced.changed();
  };
  for (const id of ['rs', 'rs2']) await acknowledgements(id);
  reads(101);
  await expect.poll(stored).toBe(time(101));
  leader.holdDdlWatermark();
  reads(102);
  await expect.poll(stored).toBe(time(101) + 1n);
  const passed = leader.untilApplied(time(105), never);
  reads(103);
  await expect.poll(stored).toBe(time(103));
  reads(107);
  await passed;
  expect(await stored()).toBe(time(105) + 1n);
  await leader.untilApplied(time(106), never);
  expect(await stored()).toBe(time(106) + 1n);
});
