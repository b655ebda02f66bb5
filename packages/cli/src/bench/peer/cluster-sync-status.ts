import { z } from 'zod';
import type { ToolProgress } from './migration-tool.js';

/** The used fields of ClusterSync's replies; before a start there is only the state. */
const statusSchema = z.object({
  ok: z.boolean(),
  error: z.string().optional(),
  state: z.string().optional(),
  eventsApplied: z.number().default(0),
  initialSync: z
    .object({
      completed: z.boolean(),
      cloneCompleted: z.boolean(),
      clonedSizeBytes: z.number(),
      estimatedCloneSizeBytes: z.number().optional(),
    })
    .optional(),
});

/** A reply of ClusterSync's HTTP interface. */
export type ClusterSyncStatus = z.output<typeof statusSchema>;

/**
 * Reads a reply, of `GET /status` or of a command.
 * @throws Error for an unknown form, or with ClusterSync's own message once it has failed
 */
export function readStatus(reply: unknown): ClusterSyncStatus {
  const status = statusSchema.parse(reply);
  if (status.state === 'failed') throw new Error(`ClusterSync failed: ${status.error ?? 'without a reason'}.`);
  return status;
}

/** It may finalize once its initial sync, the clone and the changes meanwhile, is complete. */
export function clusterSyncProgress({ state, eventsApplied, initialSync }: ClusterSyncStatus): ToolProgress {
  const copied = initialSync?.cloneCompleted ?? false;
  const total = initialSync?.estimatedCloneSizeBytes ?? 0;
  return {
    started: state !== undefined && state !== 'idle',
    copiedFraction: copied ? 1 : Math.min(1, (initialSync?.clonedSizeBytes ?? 0) / Math.max(1, total)),
    copied,
    canCommit: initialSync?.completed ?? false,
    paused: state === 'paused',
    eventsApplied,
  };
}
