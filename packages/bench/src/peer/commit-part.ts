import { passBy } from '../apply/until-applied.js';
import { type BenchmarkContext, median, type Row, rowMaker, withGoal } from '../benchmark.js';
import { BenchClusters } from '../copy/bench-clusters.js';
import { benchDocumentBytes, benchNamespace } from '../copy/bench-documents.js';
import { documentsToWrite, PacedWriters } from '../cutover/paced-writers.js';
import { clusterSyncName } from './cluster-sync.js';
import { type ToolKind, untilSeen } from './migration-tool.js';

const rounds = 3;

/**
 * How long users cannot write. Releases before 6.0 cannot reject writes, so the writers end right before the command,
 * as an operator stops them.
 */
export async function measureCommit(tools: readonly ToolKind[], context: BenchmarkContext): Promise<Row[]> {
  await using clusters = await BenchClusters.start(context.folder, 'replicaSet');
  const runs = new Map<string, CommitMeasured[]>(tools.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const tool of tools) {
      context.signal.throwIfAborted();
      context.log(`commit: round ${round} of ${rounds}, ${tool.name}`);
      runs.get(tool.name)?.push(await commitWith(tool, clusters, context));
    }
  }
  return commitRows(runs);
}

async function commitWith(
  kind: ToolKind,
  clusters: BenchClusters,
  { folder, scale, signal }: BenchmarkContext,
): Promise<CommitMeasured> {
  await clusters.empty();
  const loaded = documentsToWrite(scale);
  const collection = { ...benchNamespace, documentBytes: benchDocumentBytes, documents: loaded };
  await clusters.load('source', { ...collection, text: 'varied' });
  await using tool = await kind.open(clusters, folder);
  await tool.start();
  await untilSeen(tool, ({ canCommit }) => canCommit, signal);
  const { eventsApplied: appliedBefore } = await tool.progress();
  const end = new AbortController();
  const writers = new PacedWriters(clusters.sourceClient, loaded, end.signal);
  await writers.untilWritten(signal);
  await untilSeen(tool, ({ canCommit }) => canCommit, signal);
  end.abort();
  await writers.refused;
  const begin = performance.now();
  if (!tool.waitsForWrites)
    await tool.untilApplied({ appliedBefore, events: writers.writes, last: await passBy(clusters) }, signal);
  await tool.commit(signal);
  const writable_seconds = (performance.now() - begin) / 1000;
  return {
    writable_seconds,
    writtenPerSecond: writers.writtenPerSecond,
    missing: await writers.missingOn(clusters.destinationClient),
  };
}

/** Allowed time in which users cannot write, verified. */
const writableMax_seconds = 0.6;

/** One commit. */
export interface CommitMeasured {
  /** From the end of the last write until users may write to the destination. */
  writable_seconds: number;
  writtenPerSecond: number;
  /** Acknowledged writes that the destination lacks. */
  missing: number;
}

/** The commits of each tool by its name: medians of the times, and the sum of missing writes. */
export function commitRows(tools: ReadonlyMap<string, readonly CommitMeasured[]>): Row[] {
  return [...tools].flatMap(([tool, runs]) => {
    if (runs.length === 0) return [];
    const row = rowMaker(`commit ${tool}`);
    const rate = median(runs, ({ writtenPerSecond }) => writtenPerSecond);
    const writable = row('last write to writable', median(runs, secondsOf), 's');
    const slowest = row('last write to writable, slowest', Math.max(...runs.map(secondsOf)), 's');
    const missing = row(
      'missing writes',
      runs.reduce((sum, one) => sum + one.missing, 0),
      '',
    );
    if (tool === clusterSyncName) return [row('writes before', rate, '1/s'), writable, slowest, missing];
    return [
      row('writes before', rate, '1/s'),
      withGoal(writable, '<=', writableMax_seconds),
      slowest,
      withGoal(missing, '<=', 0),
    ];
  });
}

const secondsOf = ({ writable_seconds }: CommitMeasured): number => writable_seconds;
