import { timeAboveAll, wakeStreams } from '../../cluster/cluster-time.js';
import type { MigrationDependencies } from './migration-dependencies.js';

/** A time above everything that was written to the source before. */
export function sourceTimeAboveAll({ runtime, source }: MigrationDependencies, signal: AbortSignal): Promise<bigint> {
  return runtime.retrying('take a time of the source', () => timeAboveAll(source, { signal }), signal);
}

/** Moves the streams of idle shards of the source on. */
export function wakeSource({ runtime, source }: MigrationDependencies, signal: AbortSignal): Promise<void> {
  return runtime.retrying('wake idle shards', () => wakeStreams(source, { signal }), signal);
}
