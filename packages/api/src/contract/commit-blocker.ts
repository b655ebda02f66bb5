import { z } from 'zod';

/** What can keep a commit from being taken. Stable: clients compare the names. */
const reasons = [
  /** The instance is paused, or has failed. */
  'notRunning',
  /** Its work has not begun. */
  'notStarted',
  /** Collections are still being copied. */
  'copying',
  /** The end of its copy is not recorded on the destination yet. */
  'copyNotRecorded',
  /** Its change stream has not answered yet. */
  'streamSilent',
  /** Changes of the source wait to be applied. */
  'lag',
  /** The verifier has not compared every document once. */
  'verifying',
  /** The verifier is behind what is written. */
  'verifierLag',
  /** Documents differ and are copied again, or stay different. */
  'mismatches',
  /** The instance reports that it is not ready. */
  'notReady',
  /** The instance has not heard yet that all others are ready. */
  'awaitsOthers',
  /** The instance has no heartbeat. */
  'silent',
  /** The instance was never heard of. */
  'missing',
] as const;

/** Name of a reason. */
export type CommitBlockerReason = (typeof reasons)[number];

const stat = z.number().nonnegative().nullable();

export const commitBlockerSchema = z
  .object({
    instance: z.string().meta({ description: 'The instance that is not ready.' }),
    reason: z.enum(reasons),
    value: stat.meta({
      description:
        'Seconds of lag, verifierLag and silent, documents of verifying and mismatches; null for the others.',
    }),
    limit: stat.meta({ description: 'From where on it would not matter.' }),
    description: z.string().meta({ description: 'The same in words.' }),
  })
  .meta({ description: 'One thing that keeps a commit from being taken.' });

/** One thing that keeps a commit from being taken. */
export type CommitBlocker = z.output<typeof commitBlockerSchema>;

/** A blocker without its instance, as that instance itself finds it. */
export type OwnBlocker = Omit<CommitBlocker, 'instance'>;

/** @param figures in the reason's unit; left out where it has none */
export function blockedBy(
  reason: CommitBlockerReason,
  description: string,
  stats: Partial<Pick<CommitBlocker, 'value' | 'limit'>> = {},
): OwnBlocker {
  return { reason, value: stats.value ?? null, limit: stats.limit ?? null, description };
}

/**
 * What an instance says of itself in its progress, which names others as well.
 * @param told its `commitBlockers`
 * @param otherwise what is said of it where it names nothing
 */
export function reportedBlockers(
  instance: string,
  reported: readonly CommitBlocker[] | null,
  otherwise: OwnBlocker,
): CommitBlocker[] {
  const own = (reported ?? []).filter((blocker) => blocker.instance === instance);
  return own.length > 0 ? own : [{ instance, ...otherwise }];
}

/** Which instance waits for what, in one sentence's part: for lists and refusals. */
export function blockerText({ instance, description }: Pick<CommitBlocker, 'instance' | 'description'>): string {
  return `${instance}: ${description}`;
}
