import { timeAboveAll } from '../../cluster/cluster-time.js';
import type { MigrationContext } from './migration-context.js';

/** A time above everything that was written to the source before. */
export function sourceTimeAboveAll({ runtime, source }: MigrationContext, signal: AbortSignal): Promise<bigint> {
  return runtime.retrying('take a time of the source', () => timeAboveAll(source, { signal }), signal);
}
