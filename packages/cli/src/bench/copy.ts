import { fileURLToPath } from 'node:url';
import { MongoClient } from 'mongodb';
import { startTestCluster, type TestCluster } from '../environment/cluster/test-cluster.js';
import { Closers } from '../environment/closers.js';
import { follow } from '../environment/fleet/follow.js';
import { startFleet } from '../environment/fleet/start-fleet.js';
import { Child } from '../environment/process/child.js';
import { benchDocumentBytes, fillBenchCollection, shardBenchCollection } from './bench-data.js';
import { withGoal, type Benchmark, type BenchmarkContext, type Row } from './benchmark.js';
import { readUsage } from './process-usage.js';

const shards = 2;
const documentsAtFullScale = 200_000;
const limit_ms = 600_000;
/** The promise for an instance with the default bound of its buffers. */
const memoryMegabytesMax = 300;
const rawLoopScript = fileURLToPath(new URL('../../dist/bench/raw-loop.js', import.meta.url));

/** How fast the engine copies, against a loop that does nothing else. */
export const copyBenchmark: Benchmark = {
  name: 'copy',
  description: `${documentsAtFullScale} documents of 1 KB, ${shards} → ${shards} shards: the engine against a bare loop of raw reads and inserts`,
  async run(context) {
    const documents = Math.round(documentsAtFullScale * context.scale);
    const megabytes = (documents * benchDocumentBytes) / 1e6;
    return [...(await measure('bare loop', megabytes, documents, context, runRawLoop)), ...(await measure('engine', megabytes, documents, context, runEngine))];
  },
};

interface Clusters {
  source: TestCluster;
  destination: TestCluster;
}

interface Measured {
  seconds: number;
  cpu_seconds: number;
  peakMemoryBytes: number;
}

/** Each case has clusters of its own, so that none finds warm caches or old history. */
async function measure(name: string, megabytes: number, documents: number, context: BenchmarkContext, run: (clusters: Clusters, documents: number, context: BenchmarkContext) => Promise<Measured>): Promise<Row[]> {
  await using closers = new Closers();
  context.log(`${name}: loading ${documents} documents`);
  const topology = { shards };
  const source = closers.use(await startTestCluster({ name: `${name}-source`, topology, folder: context.folder }));
  const destination = closers.use(await startTestCluster({ name: `${name}-destination`, topology, folder: context.folder }));
  const client = new MongoClient(source.connectionString);
  closers.defer(() => client.close());
  await shardBenchCollection(client, shards);
  await fillBenchCollection(client, documents);
  context.signal.throwIfAborted();
  context.log(`${name}: copying`);
  const measured = await run({ source, destination }, documents, context);
  return [
    { case: name, metric: 'time', value: measured.seconds, unit: 's' },
    { case: name, metric: 'throughput', value: megabytes / measured.seconds, unit: 'MB/s' },
    { case: name, metric: 'CPU', value: measured.cpu_seconds / (megabytes / 1000), unit: 's/GB' },
    withGoal({ case: name, metric: 'peak memory of a process', value: measured.peakMemoryBytes / 1e6, unit: 'MB' }, '<=', memoryMegabytesMax),
  ];
}

async function runRawLoop({ source, destination }: Clusters, documents: number, { folder }: BenchmarkContext): Promise<Measured> {
  const client = new MongoClient(destination.connectionString);
  try {
    await shardBenchCollection(client, shards);
  } finally {
    await client.close();
  }
  await using loop = await Child.start({
    name: 'bare loop',
    command: process.execPath,
    args: [rawLoopScript, source.connectionString, destination.connectionString, String(documents)],
    ready: /^copied (\d+) documents in ([\d.]+) s$/,
    readyWithin_ms: limit_ms,
    logFile: folder.file('raw-loop.log'),
  });
  if (Number(loop.ready[1]) !== documents) throw new Error(`The bare loop copied ${loop.ready[1] ?? '?'} of ${documents} documents.`);
  return { seconds: Number(loop.ready[2]), ...readUsage([loop.pid]) };
}

async function runEngine({ source, destination }: Clusters, _documents: number, { folder, signal }: BenchmarkContext): Promise<Measured> {
  await using fleet = await startFleet({ source, destination, folder });
  const { client } = fleet.coordinator;
  const pids = fleet.instances.map(({ pid }) => pid);
  const before = readUsage(pids);
  const begin = performance.now();
  await client.start({ source: 'cluster0', destination: 'cluster1', verification: { enabled: false } });
  const read = async () => (await client.fleetProgress({ signal })).progress;
  await follow(read, { what: 'the copy is done', limit_ms, until: ({ info }) => info === 'change event application', signal });
  const seconds = (performance.now() - begin) / 1000;
  const after = readUsage(pids);
  return { seconds, cpu_seconds: after.cpu_seconds - before.cpu_seconds, peakMemoryBytes: after.peakMemoryBytes };
}
