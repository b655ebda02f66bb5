import { setTimeout as delay } from 'node:timers/promises';
import type { BenchmarkContext } from '../benchmark.js';
import type { BenchClusters } from '../copy/bench-clusters.js';
import { type Cost, settle_ms, watchCost } from './cost.js';
import { type ToolKind, untilSeen } from './migration-tool.js';

/** One copy, from the start request to its end. */
export interface CopyRun extends Cost {
  /** From the start request to the first read. */
  initialisation: Cost;
  /** From the start request until a commit would be accepted. */
  ready: Cost;
}

/** Copies the whole source into an empty destination with new processes of the tool. */
export async function copyWith(
  kind: ToolKind,
  clusters: BenchClusters,
  { folder, signal }: Pick<BenchmarkContext, 'folder' | 'signal'>,
): Promise<CopyRun> {
  await clusters.emptyDestination();
  await using tool = await kind.open(clusters, folder);
  await delay(settle_ms, undefined, { signal });
  const cost = watchCost(clusters, tool.pids);
  await tool.start();
  await untilSeen(tool, ({ started }) => started, signal);
  const initialisation = cost();
  await untilSeen(tool, ({ copied }) => copied, signal);
  const copy = cost();
  await untilSeen(tool, ({ canCommit }) => canCommit, signal);
  return { ...copy, initialisation, ready: cost() };
}
