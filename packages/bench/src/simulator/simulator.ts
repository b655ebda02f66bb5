import { startCluster } from '@convoy/simulator';
import { MongoClient } from 'mongodb';
import { startSimulatedCluster } from '@convoy/testbed/cluster/simulated-cluster';
import { benchDocumentBytes, benchNamespace } from '../copy/bench-documents.js';
import { type Benchmark, type BenchmarkContext, type Row, rowMaker } from '../benchmark.js';
import type { LoadOrder, LoadReport, LoadStep, StepResult } from './load-order.js';
import { besideEcho, changeRows, type MeasuredPair, type Opening, openingRows } from './simulator-rows.js';
import { fileURLToPath } from 'node:url';
import { Child } from '@convoy/testbed/process/child';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { runMeasured } from '../measured-process.js';

const echoScript = new URL('./echo-process.js', import.meta.url);
const loadScript = new URL('./load-process.js', import.meta.url);

const echoReadyWithin_ms = 30_000;
const loadLimit_ms = 900_000;

/** Runs an order in a separate process; returns one result per step. */
async function runOrder(folder: ScratchFolder, order: LoadOrder): Promise<StepResult[]> {
  const { measured } = await runMeasured<LoadReport>({
    name: 'load',
    script: loadScript,
    order,
    limit_ms: loadLimit_ms,
    logFile: folder.file('load.log'),
  });
  return measured;
}

/** The same steps against the bare echo. */
async function runEcho(folder: ScratchFolder, documents: number, steps: LoadStep[]): Promise<StepResult[]> {
  await using echo = await Child.start({
    name: 'echo',
    command: process.execPath,
    args: [fileURLToPath(echoScript), String(documents)],
    ready: /^echo on (\d+)$/,
    readyWithin_ms: echoReadyWithin_ms,
    logFile: folder.file('echo.log'),
  });
  const connectionString = `mongodb://127.0.0.1:${echo.ready[1] ?? ''}/`;
  return await runOrder(folder, {
    connectionString,
    shardConnectionString: connectionString,
    serverPid: echo.pid,
    documents,
    steps,
  });
}

const shards = 2;
const documentsAtFullScale = 100_000;
/** Echo and simulator alternate, so that other load on the host affects both; results are medians. */
const rounds = 3;

/** Steps that the echo supports too. */
const pairedSteps: readonly LoadStep[] = [
  { kind: 'insert', key: 'hashed', use: 'plain' },
  { kind: 'read', key: 'hashed', use: 'plain' },
  { kind: 'insert', key: 'ranged', use: 'raw' },
  { kind: 'read', key: 'ranged', use: 'raw' },
];
/** Each collection is written once, so the other half of the inserts has its own cluster. */
const otherPairedSteps: readonly LoadStep[] = [
  { kind: 'insert', key: 'ranged', use: 'plain' },
  { kind: 'read', key: 'ranged', use: 'plain' },
  { kind: 'insert', key: 'hashed', use: 'raw' },
  { kind: 'read', key: 'hashed', use: 'raw' },
];
/** After the steps that fill the hashed collection. */
const changeSteps: readonly LoadStep[] = [
  { kind: 'change', change: 'update' },
  { kind: 'snapshot', from: 'router' },
  { kind: 'snapshot', from: 'shard' },
  { kind: 'change', change: 'delete' },
  ...(['insert', 'update', 'delete'] as const).flatMap((events) =>
    (['shard', 'router'] as const).map((from): LoadStep => ({ kind: 'stream', events, from })),
  ),
];

/** Cost of the simulator, which shows that later benchmarks measure the engine. */
export const simulatorBenchmark: Benchmark = {
  name: 'simulator',
  description:
    `${documentsAtFullScale} documents of 1 kB written to and read from a simulated cluster of ${shards} ` +
    'shards, compared with a bare echo',
  async run(context) {
    const documents = Math.max(1_000, Math.round(documentsAtFullScale * context.scale));
    const pairs = new Map<LoadStep, MeasuredPair[]>();
    const changes = new Map<LoadStep, StepResult[]>();
    const openings: Opening[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      openings.push(await measureOpening(context));
      for (const steps of [pairedSteps, otherPairedSteps]) {
        context.signal.throwIfAborted();
        context.log(`round ${round} of ${rounds}: echo`);
        const echo = await runEcho(context.folder, documents, [...steps]);
        context.log(`round ${round} of ${rounds}: simulator`);
        const behind = steps === otherPairedSteps ? changeSteps : [];
        const measured = await runSimulator(context, documents, [...steps, ...behind]);
        steps.forEach((step, index) =>
          add(pairs, step, { echo: echo[index] as StepResult, simulator: measured[index] as StepResult }),
        );
        behind.forEach((step, index) => add(changes, step, measured[steps.length + index] as StepResult));
      }
    }
    return [
      ...openingRows(openings),
      ...[...pairs].flatMap(([step, measured]) => besideEcho(step, measured)),
      ...[...changes].flatMap(([step, measured]) => changeRows(step, measured)),
      memoryRow(pairs, documents),
    ];
  },
};

function add<V>(lists: Map<LoadStep, V[]>, step: LoadStep, value: V): void {
  lists.set(step, [...(lists.get(step) ?? []), value]);
}

async function runSimulator(context: BenchmarkContext, documents: number, steps: LoadStep[]): Promise<StepResult[]> {
  await using cluster = await startSimulatedCluster({
    name: 'simulator',
    topology: { shards },
    folder: context.folder,
  });
  await shardCollections(cluster.connectionString, steps);
  const [shard = ''] = cluster.shardIds;
  const [serverPid = 0] = cluster.pids;
  return await runOrder(context.folder, {
    connectionString: cluster.connectionString,
    shardConnectionString: cluster.shardConnectionString(shard),
    serverPid,
    documents,
    steps,
  });
}

/** The collections that inserts fill, over both shards. */
async function shardCollections(connectionString: string, steps: readonly LoadStep[]): Promise<void> {
  const client = new MongoClient(connectionString);
  try {
    const admin = client.db('admin');
    const { database } = benchNamespace;
    await admin.command({ balancerStop: 1 });
    await admin.command({ enableSharding: database });
    for (const step of steps) {
      if (step.kind !== 'insert') continue;
      for (const collection of [step.key, `warmUp_${step.key}_${step.use}`]) {
        const namespace = `${database}.${collection}`;
        if (step.key === 'hashed')
          await admin.command({ shardCollection: namespace, key: { _id: 'hashed' }, numInitialChunks: 2 * shards });
        else await shardByRange(client, namespace);
      }
    }
  } finally {
    await client.close();
  }
}

/** By `group` with values 0 to 999: the upper half belongs to the second shard. */
async function shardByRange(client: MongoClient, namespace: string): Promise<void> {
  const admin = client.db('admin');
  const middle = { group: 500 };
  await admin.command({ shardCollection: namespace, key: { group: 1 } });
  await admin.command({ split: namespace, middle });
  const { shards: listed } = (await admin.command({ listShards: 1 })) as unknown as { shards: { _id: string }[] };
  const primary = await client
    .db('config')
    .collection<{ _id: string; primary: string }>('databases')
    .findOne({ _id: benchNamespace.database });
  const other = listed.find(({ _id }) => _id !== primary?.primary);
  await admin.command({ moveChunk: namespace, find: middle, to: other?._id });
}

async function measureOpening({ folder }: BenchmarkContext): Promise<Opening> {
  const processBegin = performance.now();
  const cluster = await startSimulatedCluster({ name: 'opening', topology: { shards }, folder });
  const process_seconds = (performance.now() - processBegin) / 1000;
  await cluster.close();
  const begin = performance.now();
  const here = await startCluster({ shards });
  const inProcess_seconds = (performance.now() - begin) / 1000;
  await here.close();
  return { process_seconds, inProcess_seconds };
}

function memoryRow(pairs: ReadonlyMap<LoadStep, MeasuredPair[]>, documents: number): Row {
  const peak = Math.max(...[...pairs.values()].flat().map(({ simulator }) => simulator.serverMemoryBytes));
  const megabytes = (2 * documents * benchDocumentBytes) / 1e6;
  return rowMaker('simulator')(`peak memory with ${megabytes.toFixed(0)} MB in two collections`, peak / 1e6, 'MB');
}
