import { setTimeout as delay } from 'node:timers/promises';
import { BSON } from 'mongodb';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import type { BenchmarkContext, Row } from '../benchmark.js';
import { BenchClusters } from '../copy/bench-clusters.js';
import { type BenchCollection, benchNamespace } from '../copy/bench-documents.js';
import { type LoopConcurrency, type LoopOrder, type LoopRange, rangesOf } from '../copy/loop-order.js';
import { type CopyGoals, copyRows, type SizeCompared } from './copy-rows.js';
import { type CopyRun, copyWith } from './copy-run.js';
import { type Cost, settle_ms, watchCost } from './cost.js';
import type { ToolKind } from './migration-tool.js';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { runMeasured } from '../measured-process.js';
import type { RunUsage } from '../process-usage.js';

const loopScript = new URL('../copy/loop-process.js', import.meta.url);
const limit_ms = 300_000;

/** What the tools and the bare loop copy. */
export interface CopySubject extends Pick<SizeCompared, 'name' | 'bytes' | 'goals'> {
  database: string;
  /** The collection whose documents are stored. */
  collection: string;
  documents: number;
  /** Ranges of `_id` that hold about as many documents each, of every shard. */
  ranges: (count: number) => readonly LoopRange[];
  /** Makes the collection on the empty destination, as the bare loop needs it. */
  makeEmpty: () => Promise<void>;
}

/** Copies the collection with a loop in a separate process; the destination has it, empty. */
async function runLoop(
  { source, destination }: BenchClusters,
  folder: ScratchFolder,
  { database, collection, documents, ranges }: CopySubject,
  { readersPerShard, writesPerReader }: LoopConcurrency,
): Promise<RunUsage> {
  const order: LoopOrder = {
    source: source.connectionString,
    destination: destination.connectionString,
    database,
    collection,
    documents,
    ranges: ranges(readersPerShard),
    writesPerReader,
  };
  return runMeasured({
    name: 'loop',
    script: loopScript,
    order: BSON.EJSON.serialize(order, { relaxed: true }),
    limit_ms,
    logFile: folder.file('loop.log'),
  });
}

/** Document sizes of a part, and bytes of all documents together. */
export interface CopySize {
  /** For example `1 kB`. */
  name: string;
  documentBytes: number;
  bytes: number;
  goals: CopyGoals;
}

/** Forms of the bare loop; the best one counts. */
const concurrencies: readonly LoopConcurrency[] = [
  { readersPerShard: 2, writesPerReader: 2 },
  { readersPerShard: 4, writesPerReader: 2 },
];

/** All tools take turns, A B A B, so that other load on the host affects all. */
const rounds = 3;

/** Copies of one document size between clusters of one kind: by every tool, and by the bare loop of raw bytes. */
export async function measureCopy(
  size: CopySize,
  kind: TestCluster['kind'],
  tools: readonly ToolKind[],
  context: BenchmarkContext,
): Promise<Row[]> {
  const { folder, log, scale } = context;
  await using clusters = await BenchClusters.start(folder, kind);
  const documents = Math.max(100, Math.round((size.bytes * scale) / size.documentBytes));
  const { documentBytes } = size;
  const collection: BenchCollection = { ...benchNamespace, documentBytes, documents, text: 'varied' };
  log(`${size.name}: loading ${documents} documents`);
  await clusters.load('source', collection);
  const subject: CopySubject = {
    name: size.name,
    bytes: documents * documentBytes,
    goals: size.goals,
    ...benchNamespace,
    documents,
    ranges: (count) => rangesOf(documents, count),
    makeEmpty: () => clusters.shard('destination', collection),
  };
  return copyRows(await compareCopies(subject, clusters, tools, context));
}

/** Copies by every tool in turns, and by the bare loop. */
export async function compareCopies(
  subject: CopySubject,
  clusters: BenchClusters,
  tools: readonly ToolKind[],
  context: BenchmarkContext,
): Promise<SizeCompared> {
  const { log, signal } = context;
  const { name, bytes, goals } = subject;
  const bare: SizeCompared['bare'] = [];
  for (const concurrency of concurrencies) {
    signal.throwIfAborted();
    log(`${name}: bare loop with ${concurrency.readersPerShard} × ${concurrency.writesPerReader}`);
    bare.push(await copyBarely(clusters, subject, concurrency, context));
  }
  const best = concurrencies[bare.indexOf(bare.reduce((one, other) => (other.seconds < one.seconds ? other : one)))];
  const able = tools.filter(({ canMigrate }) => canMigrate?.(clusters) ?? true);
  const runs = new Map<string, CopyRun[]>(able.map((tool) => [tool.name, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const tool of able) {
      signal.throwIfAborted();
      log(`${name}: round ${round} of ${rounds}, ${tool.name}`);
      runs.get(tool.name)?.push(await copyWith(tool, clusters, context));
      await requireAll(tool, clusters, subject);
    }
    if (best !== undefined) bare.push(await copyBarely(clusters, subject, best, context));
  }
  return { name, bytes, goals, bare, tools: runs };
}

async function copyBarely(
  clusters: BenchClusters,
  subject: CopySubject,
  concurrency: LoopConcurrency,
  { folder, signal }: BenchmarkContext,
): Promise<Cost> {
  await clusters.emptyDestination();
  await subject.makeEmpty();
  await delay(settle_ms, undefined, { signal });
  const cost = watchCost(clusters, []);
  const loop = await runLoop(clusters, folder, subject, concurrency);
  return { ...cost(), ...loop };
}

async function requireAll({ name }: ToolKind, clusters: BenchClusters, wanted: CopySubject): Promise<void> {
  const { database, collection, documents } = wanted;
  const found = await clusters.destinationClient.db(database).collection(collection).countDocuments();
  if (found !== documents) throw new Error(`${name} copied ${found} of ${documents} documents.`);
}
