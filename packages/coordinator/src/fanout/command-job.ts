import { z } from 'zod';
import { commandNames } from '@convoy/api/contract/commands';
import type { CommandResult } from '@convoy/api/fleet/fleet';
import { isErrorName } from '@convoy/api/errors/table';

/** Tries of a command that fails for a reason that passes by itself. */
export const ATTEMPTS_MAX = 3;
/** Pause before the second try in milliseconds; it doubles with each further one. */
const BACKOFF_MS = 200;
/** Finished jobs kept per queue: enough to recognise a repeated command, and to look into a night's trouble. */
const JOBS_RETAINED = 200;
/** Entries of a queue's event stream that are kept, for those who wait for a result. */
export const EVENTS_RETAINED = 1_000;

/** How every command job is queued. */
export const jobOptions = {
  attempts: ATTEMPTS_MAX,
  backoff: { type: 'exponential', delay: BACKOFF_MS },
  removeOnComplete: { count: JOBS_RETAINED },
  removeOnFail: { count: JOBS_RETAINED },
} as const;

const jobDataSchema = z.object({
  name: z.enum(commandNames),
  body: z.unknown(),
  /** After this time of the Redis server nobody waits for the result, and the command must not be begun. */
  expiresAt_ms: z.number(),
});

const resultSchema = z.discriminatedUnion('success', [
  z.object({ success: z.literal(true) }),
  z.object({
    success: z.literal(false),
    error: z.string().refine(isErrorName),
    errorDescription: z.string(),
  }),
]);

/** A command in a queue; the job's id is the command's. */
export type CommandJobData = z.output<typeof jobDataSchema>;

/** Reads a job's data; null when it is no command of this release. */
export function readJobData(data: unknown): CommandJobData | null {
  return jobDataSchema.safeParse(data).data ?? null;
}

/** Reads a job's returned value; null when it is no result. */
export function readResult(value: unknown): CommandResult | null {
  return resultSchema.safeParse(value).data ?? null;
}
