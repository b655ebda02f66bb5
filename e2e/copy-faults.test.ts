import { MongoClient, type Document } from 'mongodb';
import { expect, test } from 'vitest';
import type { ContractClient } from '@convoy/api/client/contract-client';
import { Clusters, defaultStart, untilCanCommit, untilProgress } from './fleet.js';
import { isFullRun, needs } from './requirements.js';
import { Workload } from './workload.js';

/** Of 1 KB: several batches, so that each fault hits the copy. */
const orders = 4_000;
/** Slow enough for faults to hit the copy. */
const settings = { partition_seconds: 1, loadRateBytesPerSecond: 1_000_000 };
const writes = ['insert', 'update', 'delete'];
const reads = ['find', 'getMore', 'aggregate'];

interface Fault {
  name: string;
  /** Whether the primaries of both clusters step down first. */
  stepsDown?: boolean;
  at: 'source' | 'destination';
  /** Settings of `failCommand`, each once the one before is used up. */
  data: Document[];
}

const faults: Fault[] = [
  {
    name: 'cursors of the source are lost (CursorNotFound, CursorKilled)',
    at: 'source',
    data: [
      { failCommands: ['getMore'], errorCode: 43 },
      { failCommands: ['getMore'], errorCode: 237 },
    ],
  },
  {
    name: 'the primary of the source steps down and cuts connections',
    at: 'source',
    data: [
      { failCommands: reads, errorCode: 10107 },
      { failCommands: reads, closeConnection: true },
    ],
  },
  {
    name: 'the primary of the destination steps down and cuts connections',
    at: 'destination',
    data: [
      { failCommands: writes, errorCode: 10107 },
      { failCommands: writes, closeConnection: true },
    ],
  },
  {
    name: 'writes of the destination are carried out and answered with a write concern error',
    at: 'destination',
    data: [
      {
        failCommands: writes,
        writeConcernError: { code: 91, codeName: 'ShutdownInProgress', errmsg: 'shutting down' },
      },
    ],
  },
  {
    name: 'the disk of the destination is full for a while',
    at: 'destination',
    data: [{ failCommands: writes, errorCode: 14031 }],
  },
  {
    name: 'the primaries of source and destination step down for two seconds',
    stepsDown: true,
    at: 'destination',
    data: [],
  },
];

/** One after the other in one copy; with CONVOY_TEST_FULL=1 each in its own, and those before them. */
const sampled = faults.slice(-3);
const sample: Fault[] = [
  {
    name: sampled.map(({ name }) => name).join(', and '),
    stepsDown: true,
    at: 'destination',
    data: sampled.flatMap(({ data }) => data),
  },
];

test.each(isFullRun ? faults : sample)(
  'no document is lost or repeated while $name (servers from 5.0)',
  needs({ version: [5, 0] }),
  async ({ stepsDown = false, at, data }) => {
    await using clusters = await Clusters.loaded({ source: 'replicaSet', destination: 'replicaSet' }, orders);
    await using instance = await clusters.startLoneInstanceHere(settings);

    await instance.client.start(defaultStart);
    if (stepsDown) await stepDown(clusters, instance.client);
    // A driver does not repeat an update of many documents that meets a primary which has just stepped down.
    await using workload = Workload.start(clusters.clients.source, orders);
    await untilCopied(instance.client, 0);
    for (const fault of data) await failTimes(clusters.clients[at], fault, 6);
    await clusters.cutOver(instance.client, workload);
  },
);

test(
  'a disk of the destination that stays full ends the migration with its name, and what the disk took is untouched ' +
    '(servers from 5.0)',
  needs({ version: [5, 0] }),
  async () => {
    await using clusters = await Clusters.loaded({ source: 'replicaSet', destination: 'replicaSet' }, orders);
    await using instance = await clusters.startLoneInstanceHere({
      ...settings,
      loadRateBytesPerSecond: 250_000,
      retry_minutes: 0.05,
    });
    await instance.client.start(defaultStart);
    await untilCopied(instance.client, 500_000);

    const admin = clusters.clients.destination.db('admin');
    await admin.command({
      configureFailPoint: 'failCommand',
      mode: 'alwaysOn',
      data: { failCommands: writes, errorCode: 14031, namespace: 'e2e.orders' },
    });
    await expect(untilCanCommit(instance.client)).rejects.toMatchObject({
      error: 'retriesExhausted',
      message: expect.stringContaining('14031') as unknown,
    });
    await admin.command({ configureFailPoint: 'failCommand', mode: 'off' });
    expect(await clusters.clients.destination.db('e2e').collection('orders').countDocuments()).toBeGreaterThan(0);
  },
);

test(
  'documents of 16 MB are copied, changed meanwhile, and written again after a kill (servers from 5.0)',
  needs({ version: [5, 0], inFull: true }),
  async () => {
    await using clusters = await Clusters.start({ source: { shards: 1 }, destination: { shards: 1 } });
    const large = clusters.clients.source.db('e2e').collection<{ _id: number; text: string; version: number }>('large');
    const sizeOfRest = 4 + (1 + 4 + 4) + (1 + 5 + 4 + 1) + (1 + 8 + 4) + 1;
    const text = 'x'.repeat(16 * 1024 * 1024 - sizeOfRest);
    for (let _id = 0; _id < 8; _id += 1) await large.insertOne({ _id, text, version: 0 });
    await using fleet = await clusters.startFleet({ partition_seconds: 1, loadRateBytesPerSecond: 30_000_000 });
    const { client } = fleet.coordinator;
    const [instance] = fleet.instances;

    await client.start(defaultStart);
    await untilCopied(client, 20_000_000);
    await instance?.kill();
    await large.updateMany({ _id: { $lt: 4 } }, { $inc: { version: 1 } });
    await large.deleteOne({ _id: 5 });
    await large.insertOne({ _id: 5, text, version: 5 });
    await large.replaceOne({ _id: 6 }, { text, version: 6 });
    await instance?.restart();
    await untilCanCommit(client);
    await large.insertOne({ _id: 9, text, version: 9 });
    await large.updateMany({ _id: { $gte: 4 } }, { $inc: { version: 1 } });
    expect((await clusters.commit(client)).documents).toBe(9);
  },
);

/** Waits until more than some bytes are copied. */
async function untilCopied(client: ContractClient, bytes: number): Promise<void> {
  await untilProgress(
    client,
    `more than ${bytes} bytes are copied`,
    ({ collectionCopy }) => (collectionCopy?.estimatedCopiedBytes ?? 0) > bytes,
  );
}

/** The primary of the source steps down in the copy, then that of the destination. */
async function stepDown({ clients }: Clusters, client: ContractClient): Promise<void> {
  for (const [side, bytes] of [
    ['source', 500_000],
    ['destination', 1_500_000],
  ] as const) {
    await untilCopied(client, bytes);
    await clients[side].db('admin').command({ replSetStepDown: 2, force: true });
  }
}

/**
 * Makes the next commands of a kind fail, and waits until they have. It fails those of the instance alone: real servers
 * run a `find` for a retried write of any user.
 */
async function failTimes(client: MongoClient, fault: Document, times: number): Promise<void> {
  const admin = client.db('admin');
  const data = { ...fault, appName: 'convoy' };
  const on = await admin.command({ configureFailPoint: 'failCommand', mode: { times }, data });
  const entered = (on['count'] as number) + times;
  const seen = async (): Promise<number> =>
    (await admin.command({ waitForFailPoint: 'failCommand', timesEntered: entered, maxTimeMS: 60_000 }))[
      'ok'
    ] as number;
  expect(await seen()).toBe(1);
}
