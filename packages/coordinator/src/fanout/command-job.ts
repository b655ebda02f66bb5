import { z } from 'zod';
import { commandNames } from '@convoy/api/contract/commands';
import type { CommandResult } from '@convoy/api/fleet/fleet';
import { isErrorName } from '@convoy/api/errors/table';

/** Attempts of a command that fails with an `automatic` error. */
export const ATTEMPTS_MAX = 3;
/** Delay before the second attempt in milliseconds; it doubles with each further one. */
const BACKOFF_MS = 200;
/** Finished jobs to keep per queue: enough to recognise repeated commands and to debug a night's trouble. */
const JOBS_RETAINED = 200;
/** Entries to keep in a queue's event stream, for processes that wait for a result. */
export const EVENTS_RETAINED = 1_000;

/** Options of every command job. */
export const jobOptions = {
  attempts: ATTEMPTS_MAX,
  backoff: { type: 'exponential', delay: BACKOFF_MS },
  removeOnComplete: { count: JOBS_RETAINED },
  removeOnFail: { count: JOBS_RETAINED },
} as const;

const jobDataSchema = z.object({
  name: z.enum(commandNames),
  body: z.unknown(),
  /** After this time of the Redis server the sender no longer waits, and the instance must not run the command. */
  expiresAt_ms: z.number(),
});

const resultSchema = z.discriminatedUnion('success', [
  z.object({ success: z.literal(true), waitingFor: z.array(z.string()).exactOptional() }),
  z.object({
    success: z.literal(false),
    error: z.string().refine(isErrorName),
    errorDescription: z.string(),
  }),
]);

/** A queued command; the job's id is the command's. */
export type CommandJobData = z.output<typeof jobDataSchema>;

/** Parses a job's data; null when it is not a command of this release. */
export function readJobData(data: unknown): CommandJobData | null {
  return jobDataSchema.safeParse(data).data ?? null;
}

/** Parses a job's return value; null when it is not a result. */
export function readResult(value: unknown): CommandResult | null {
  return resultSchema.safeParse(value).data ?? null;
}
