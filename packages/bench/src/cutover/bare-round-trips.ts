import type { ChangeStream, MongoClient } from 'mongodb';
import type { LeaderStep } from '@convoy/instance/lifecycle/migration/steps';
import { median } from '../benchmark.js';
import type { BenchClusters } from '../copy/bench-clusters.js';
import { benchNamespace } from '../copy/bench-documents.js';

const scratch = { database: 'bench_bare', collection: 'notes' } as const;
const bareIndex = 'bare_value';
/** Repetitions of each; the median counts. */
const rounds = 5;
/** Time limit of a server's reply without news. */
const awaitData_ms = 10;

/** Both clusters of a committed migration, with a user that has all privileges. */
type CutOverClients = Pick<BenchClusters, 'sourceClient' | 'destinationClient'>;

/** Median milliseconds of each step's minimal commands, sent by a plain client one after the other. */
export async function measureBare(clients: CutOverClients): Promise<Map<LeaderStep, number>> {
  const medians = new Map<LeaderStep, number>();
  for (const [step, { prepare, run }] of stepsOf(clients)) {
    const times_ms: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      await prepare?.();
      const begin = performance.now();
      await run();
      times_ms.push(performance.now() - begin);
    }
    medians.set(
      step,
      median(times_ms, (time_ms) => time_ms),
    );
  }
  await clients.destinationClient
    .db(benchNamespace.database)
    .collection(benchNamespace.collection)
    .dropIndex(bareIndex);
  for (const client of [clients.sourceClient, clients.destinationClient])
    await client.db(scratch.database).dropDatabase();
  return medians;
}

interface Bare {
  prepare?: () => Promise<void>;
  run: () => Promise<unknown>;
}

/** The source is closed and the destination open, before and after. */
function stepsOf({ sourceClient: source, destinationClient: destination }: CutOverClients): [LeaderStep, Bare][] {
  const record = () => note(destination);
  return [
    ['commitStarted', { run: record }],
    ['sourceBlocked', { prepare: () => block(source, false), run: () => block(source, true) }],
    ['transactionsEnded', { run: () => openOperations(source) }],
    ['commitTimeTaken', { run: () => inSequence(() => oplogNote(source), record) }],
    ['roundDrained', { run: () => inSequence(() => streamPassed(source), record, record) }],
    [
      'definitionsCompared',
      {
        run: () =>
          inSequence(
            () => listDefinitions(source),
            () => listDefinitions(destination),
          ),
      },
    ],
    ['commitSealed', { run: () => inSequence(record, record) }],
    [
      'documentsVerified',
      { run: () => inSequence(record, () => Promise.all([streamPassed(source), streamPassed(destination)]), record) },
    ],
    [
      'attributesRestored',
      {
        prepare: () => plainIndex(destination),
        run: () =>
          inSequence(
            () => changeIndex(destination, { prepareUnique: true }),
            () => changeIndex(destination, { unique: true }),
          ),
      },
    ],
    ['catalogsEqual', { run: () => listDefinitions(destination) }],
    ['verifiedAgain', { run: () => inSequence(record, () => streamPassed(destination), record) }],
    [
      'lateWritesRefused',
      {
        run: () =>
          inSequence(
            () => openOperations(source),
            () => oplogNote(source),
            record,
            () => streamPassed(source),
            record,
          ),
      },
    ],
    ['openingDecided', { run: record }],
    ['openingTimeStored', { run: () => inSequence(() => oplogNote(destination), record) }],
    [
      'destinationOpened',
      {
        prepare: () => block(destination, true),
        run: () =>
          inSequence(
            () => block(source, true),
            () => block(destination, false),
          ),
      },
    ],
    ['writesAllowed', { run: record }],
  ];
}

async function inSequence(...calls: (() => Promise<unknown>)[]): Promise<void> {
  for (const call of calls) await call();
}

/** A durable write of state. */
async function note(client: MongoClient): Promise<void> {
  const notes = client
    .db(scratch.database)
    .collection<{ _id: string }>(scratch.collection, { writeConcern: { w: 'majority' } });
  await notes.updateOne({ _id: 'state' }, { $inc: { n: 1 } }, { upsert: true });
}

async function openOperations(client: MongoClient): Promise<void> {
  await client
    .db('admin')
    .aggregate([{ $currentOp: { allUsers: true } }])
    .toArray();
}

async function oplogNote(client: MongoClient): Promise<void> {
  await client.db('admin').command({ appendOplogNote: 1, data: { bench: 'bare' } });
}

async function block(client: MongoClient, blocked: boolean): Promise<void> {
  await client.db('admin').command({ setUserWriteBlockMode: 1, global: blocked });
}

/**
 * From a write until a stream of the whole cluster shows it: the stream waits until every shard has passed its time.
 */
async function streamPassed(client: MongoClient): Promise<void> {
  const stream: ChangeStream = client.watch([{ $match: { 'ns.db': scratch.database } }], {
    maxAwaitTimeMS: awaitData_ms,
  });
  try {
    await stream.tryNext();
    await note(client);
    await oplogNote(client);
    await stream.next();
  } finally {
    await stream.close();
  }
}

async function listDefinitions(client: MongoClient): Promise<void> {
  await client.db('admin').admin().listDatabases({ nameOnly: true });
  const database = client.db(benchNamespace.database);
  for (const { name } of await database.listCollections().toArray()) await database.collection(name).indexes();
  await client.db('config').collection('collections').find().toArray();
  await client.db('config').collection('chunks').find().toArray();
}

async function plainIndex(client: MongoClient): Promise<void> {
  const documents = client.db(benchNamespace.database).collection(benchNamespace.collection);
  if ((await documents.indexes()).some(({ name }) => name === bareIndex)) await documents.dropIndex(bareIndex);
  await documents.createIndexes([{ key: { value: 1 }, name: bareIndex }]);
}

async function changeIndex(client: MongoClient, change: object): Promise<void> {
  await client
    .db(benchNamespace.database)
    .command({ collMod: benchNamespace.collection, index: { name: bareIndex, ...change } });
}
