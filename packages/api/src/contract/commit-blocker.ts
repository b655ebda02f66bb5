import { z } from 'zod';

/** What can keep a commit from being taken, and the unit of `value` and `limit`; both are null where none is given. */
export const commitBlockerReasons = {
  /** The instance is paused, or has failed. */
  notRunning: null,
  /** Its work has not begun. */
  notBegun: null,
  /** Collections are still being copied. */
  copying: null,
  /** The end of its copy is not recorded on the destination yet. */
  copyNotRecorded: null,
  /** Its change stream has not answered yet. */
  streamSilent: null,
  /** Changes of the source wait to be applied. */
  lag: 'seconds',
  /** The verifier has not compared every document once. */
  verifying: 'documents',
  /** The verifier is behind what is written. */
  verifierLag: 'seconds',
  /** Documents differ and are copied again, or stay different. */
  mismatches: 'documents',
  /** The instance reports that it is not ready. */
  notReady: null,
  /** The instance has not heard yet that all others are ready. */
  awaitsOthers: null,
  /** The instance has no heartbeat. */
  silent: 'seconds',
  /** The instance was never heard of. */
  missing: null,
} as const satisfies Record<string, 'seconds' | 'documents' | null>;

/** Name of a reason; stable: clients compare it. */
export type CommitBlockerReason = keyof typeof commitBlockerReasons;

const figure = z.number().nonnegative().nullable();

export const commitBlockerSchema = z
  .object({
    instance: z.string().meta({ description: 'The instance that is not ready.' }),
    reason: z.enum(Object.keys(commitBlockerReasons) as [CommitBlockerReason, ...CommitBlockerReason[]]),
    value: figure.meta({ description: 'How much there is, in the unit of the reason.' }),
    limit: figure.meta({ description: 'From where on it would not matter.' }),
    description: z.string().meta({ description: 'The same in words.' }),
  })
  .meta({ description: 'One thing that keeps a commit from being taken.' });

/** One thing that keeps a commit from being taken. */
export type CommitBlocker = z.output<typeof commitBlockerSchema>;

/** A blocker without its instance, as that instance itself finds it. */
export type OwnBlocker = Omit<CommitBlocker, 'instance'>;

/** @param figures in the reason's unit; left out where it has none */
export function blockedBy(reason: CommitBlockerReason, description: string, figures: Partial<Pick<CommitBlocker, 'value' | 'limit'>> = {}): OwnBlocker {
  return { reason, value: figures.value ?? null, limit: figures.limit ?? null, description };
}

/** Which instance waits for what, in one sentence's part: for lists and refusals. */
export function blockerText({ instance, description }: Pick<CommitBlocker, 'instance' | 'description'>): string {
  return `${instance}: ${description}`;
}
