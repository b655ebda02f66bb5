import type { Cluster } from '../../cluster/door.js';
import { type ConfirmOwner, FencedWriter } from '../../store/fenced-writer.js';
import type { Retrying } from '../../cluster/retry.js';
import { SessionFence } from '../../store/session-fence.js';
import type { ShareRecord } from '../../store/share-record.js';

/** The share's ways to the destination. Each station has sessions of its own, so that none waits for another's writes. */
export interface ShareWriters {
  copy: FencedWriter;
  apply: FencedWriter;
  repair: FencedWriter;
}

/** Shares out the sessions of a share: one for repairs, one per lane, the rest for the copy. */
export function shareWriters(
  destination: Pick<Cluster, 'router' | 'shardIds'>,
  retrying: Retrying,
  record: ShareRecord,
  lanes: number,
  confirm: ConfirmOwner,
): ShareWriters {
  const fence = new SessionFence(destination, retrying);
  const sessions = record.sessions.map((session) => session.value());
  const forLanes = Math.max(1, Math.min(lanes, sessions.length - 2));
  const writer = (from: number, to: number): FencedWriter => new FencedWriter(destination.router, retrying, sessions.slice(from, to), record.epoch, confirm, fence);
  return { repair: writer(0, 1), apply: writer(1, 1 + forLanes), copy: writer(1 + forLanes, sessions.length) };
}
