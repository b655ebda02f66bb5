import type { ClusterClient } from '../../cluster/node-client.js';
import { type ConfirmOwner, FencedWriter } from '../../store/fenced-writer.js';
import type { Retrying } from '../../cluster/retry.js';
import { SessionFence } from '../../store/session-fence.js';
import type { TaskRecord } from '../../store/task-record.js';

/** The share's ways to the destination. Each station has sessions of its own, so that none waits for another's writes. */
export interface TaskWriters {
  copy: FencedWriter;
  apply: FencedWriter;
  reread: FencedWriter;
}

/** Shares out the sessions of a share: one for repairs, one per lane, the rest for the copy. */
export function taskWriters(
  destination: Pick<ClusterClient, 'router' | 'shardIds'>,
  retrying: Retrying,
  record: TaskRecord,
  applyWorkers: number,
  confirm: ConfirmOwner,
): TaskWriters {
  const fence = new SessionFence(destination, retrying);
  const sessions = record.sessions.map((session) => session.value());
  const forWorkers = Math.max(1, Math.min(applyWorkers, sessions.length - 2));
  const writer = (from: number, to: number): FencedWriter =>
    new FencedWriter(destination.router, retrying, sessions.slice(from, to), record.epoch, confirm, fence);
  return { reread: writer(0, 1), apply: writer(1, 1 + forWorkers), copy: writer(1 + forWorkers, sessions.length) };
}
