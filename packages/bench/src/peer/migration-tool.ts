import { setTimeout as delay } from 'node:timers/promises';
import type { Timestamp } from 'mongodb';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import type { BenchClusters } from '../copy/bench-clusters.js';

/** What a tool reports at one moment. */
export interface ToolProgress {
  /** It has begun to copy. */
  started: boolean;
  /** The copied part of all bytes, 0 to 1. */
  copiedFraction: number;
  copied: boolean;
  canCommit: boolean;
  /** Its verifier has compared every change up to a second ago; true without one. */
  checked: boolean;
  paused: boolean;
  /** Since its start. */
  eventsApplied: number;
}

/** Writes that a tool has to apply. */
export interface Written {
  /** What the tool had applied before them. */
  appliedBefore: number;
  events: number;
  /** A time at or above the last of them, with a note on every shard behind it. */
  last: Timestamp;
}

/** A running program that migrates the source of a benchmark to its destination. */
export interface MigrationTool extends AsyncDisposable {
  /** Its processes, without those that only command them. */
  readonly pids: readonly number[];
  /** Whether a commit waits by itself until all writes before it are applied. */
  readonly waitsForWrites: boolean;
  start(): Promise<void>;
  progress(): Promise<ToolProgress>;
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Resolves once these writes are durable on the destination. */
  untilApplied(written: Written, signal: AbortSignal): Promise<void>;
  /** Ends the migration; resolves once users may write to the destination. */
  commit(signal: AbortSignal): Promise<void>;
}

/** One column of the comparison. */
export interface ToolKind {
  /** For example `Convoy verified`. */
  name: string;
  /** Whether it can migrate between these clusters; absent: between all. */
  canMigrate?: (clusters: BenchClusters) => boolean;
  /** Starts its processes, for an empty destination. */
  open(clusters: BenchClusters, folder: ScratchFolder): Promise<MigrationTool>;
}

/** Exact enough for a run of seconds, and almost free for the tools. */
const poll_ms = 50;
/** Interval while most of the copy remains: a reply costs an instance a millisecond, which would count for the copy. */
const idlePoll_ms = 400;
const nearlyAll = 0.8;
const limit_ms = 300_000;

/**
 * Waits until a tool's progress meets the condition.
 * @returns that progress
 * @throws Error at the time limit of 5 min, or the signal's reason
 */
export async function untilSeen(
  tool: MigrationTool,
  condition: (seen: ToolProgress) => boolean,
  signal: AbortSignal,
): Promise<ToolProgress> {
  const deadline = performance.now() + limit_ms;
  for (;;) {
    const seen = await tool.progress();
    if (condition(seen)) return seen;
    if (performance.now() > deadline) throw new Error(`A tool did not finish within ${limit_ms / 1000} s.`);
    const isFarFromEnd = seen.started && seen.copiedFraction < nearlyAll;
    await delay(isFarFromEnd ? idlePoll_ms : poll_ms, undefined, { signal });
  }
}
