import { timeAboveAll, wakeStreams } from '../../cluster/cluster-time.js';
import type { BothClusters } from './migration-dependencies.js';

/** A cluster time above every earlier write on the source. */
export function sourceTimeAboveAll({ runtime, source }: BothClusters, signal: AbortSignal): Promise<bigint> {
  return runtime.retrying('take a time of the source', () => timeAboveAll(source, { signal }), signal);
}

/** Advances the streams of the source's idle shards. */
export function wakeSource({ runtime, source }: BothClusters, signal: AbortSignal): Promise<void> {
  return runtime.retrying('wake idle shards', () => wakeStreams(source, { signal }), signal);
}
