import { mostWritten, type Progress } from '@convoy/api/contract/progress';
import { type SourceWrites, writesWindow_seconds } from '../../apply/recent-writes.js';
import type { TaskStats } from './task-stats.js';

/** The writes of an instance's source shards; null while a stream is too far behind to show the present. */
export function sourceWritesOf(stats: readonly TaskStats[]): Progress['sourceWrites'] {
  const current = stats.flatMap(({ sourceWrites, followsStream, readLag_seconds }) =>
    sourceWrites !== undefined && followsStream && readLag_seconds < writesWindow_seconds ? sourceWrites : [],
  );
  if (stats.length === 0 || current.length < stats.length) return null;
  const last_seconds = Math.max(...current.map(({ lastWrite_seconds }) => lastWrite_seconds ?? 0));
  return {
    windowSeconds: writesWindow_seconds,
    writes: current.reduce((sum, { writes }: SourceWrites) => sum + writes, 0),
    namespaces: mostWritten(current.flatMap(({ namespaces }) => namespaces)),
    lastWriteAt: last_seconds === 0 ? null : new Date(last_seconds * 1000).toISOString(),
  };
}
