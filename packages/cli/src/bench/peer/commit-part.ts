import { passBy } from '../apply/until-applied.js';
import type { BenchmarkContext, Row } from '../benchmark.js';
import { BenchClusters } from '../copy/bench-clusters.js';
import { benchDocumentBytes, benchNamespace } from '../copy/bench-documents.js';
import { documentsToWrite, PacedWriters } from '../cutover/paced-writers.js';
import { type CommitMeasured, commitRows } from './commit-rows.js';
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
