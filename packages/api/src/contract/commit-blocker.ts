import { z } from 'zod';

/** Reasons that block a commit. Stable, since clients compare them. */
const reasons = [
  /** The instance is paused, or has failed. */
  'notRunning',
  /** Its work has not started. */
  'notStarted',
  /** Collections are still being copied. */
  'copying',
  /** The destination does not record the end of its copy yet. */
  'copyNotRecorded',
  /** Its change stream has not responded yet. */
  'streamSilent',
  /** Changes of the source are still to be applied. */
  'lag',
  /** The verifier has not compared every document once. */
  'verifying',
  /** The verifier lags behind the writes. */
  'verifierLag',
  /** Documents differ: Convoy is copying them again, or they stay different. */
  'mismatches',
  /** With `buildIndexes` after the copy: the leader builds the indexes. */
  'buildingIndexes',
  /** The leader cannot bring indexes, options or views of the destination into line. */
  'definitions',
  /** A cluster's feature compatibility version was changed so that a commit is refused. */
  'featureVersion',
  /** What `carry` asks for cannot be carried. */
  'carry',
  /** The leader has not looked yet at what a commit would leave behind. */
  'inventory',
  /** The instance reports that it is not ready. */
  'notReady',
  /** The instance does not know yet that all others are ready. */
  'awaitsOthers',
  /** The instance has no heartbeat. */
  'silent',
  /** The instance has never registered. */
  'missing',
] as const;

/** Name of a reason that blocks a commit. */
export type CommitBlockerReason = (typeof reasons)[number];

const stat = z.number().nonnegative().nullable();

export const commitBlockerSchema = z
  .object({
    instance: z.string().describe('The instance that is not ready.'),
    reason: z.enum(reasons),
    value: stat.describe(
      'Seconds of lag, verifierLag and silent, documents of verifying and mismatches; null for the others.',
    ),
    limit: stat.describe('Limit below which the value does not block.'),
    description: z.string().describe('The reason as text.'),
  })
  .describe('A reason that blocks the commit.');

/** A reason that blocks the commit. */
export type CommitBlocker = z.output<typeof commitBlockerSchema>;

/** A blocker as its instance finds it, without the instance's name. */
export type OwnBlocker = Omit<CommitBlocker, 'instance'>;

/** @param stats value and limit in the reason's unit; left out where it has none */
export function blockedBy(
  reason: CommitBlockerReason,
  description: string,
  stats: Partial<Pick<CommitBlocker, 'value' | 'limit'>> = {},
): OwnBlocker {
  return { reason, value: stats.value ?? null, limit: stats.limit ?? null, description };
}

/**
 * The blockers that an instance reports about itself; its progress names other instances too.
 * @param reported its `commitBlockers`
 * @param otherwise the blocker to return when it reports none
 */
export function reportedBlockers(
  instance: string,
  reported: readonly CommitBlocker[] | null,
  otherwise: OwnBlocker,
): CommitBlocker[] {
  const own = (reported ?? []).filter((blocker) => blocker.instance === instance);
  return own.length > 0 ? own : [{ instance, ...otherwise }];
}

/** One blocker as text, for lists and errors. */
export function blockerText({ instance, description }: Pick<CommitBlocker, 'instance' | 'description'>): string {
  return `${instance}: ${description}`;
}
