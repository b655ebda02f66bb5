import type { ClusterClient } from '../../cluster/node-client.js';
import { type ConfirmOwner, FencedWriter } from '../../store/fenced-writer.js';
import type { Retrying } from '../../async/retry.js';
import { SessionFence } from '../../store/session-fence.js';
import type { TaskRecord } from '../../store/task-record.js';

/** The writers of a sync task. Each stage has its own sessions, so that none waits for another's writes. */
export interface TaskWriters {
  copy: FencedWriter;
  apply: FencedWriter;
  reread: FencedWriter;
}

/** Assigns the sessions of a task: one for re-reads, one to each apply worker, the rest to the copy. */
export function taskWriters(
  destination: ClusterClient,
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
