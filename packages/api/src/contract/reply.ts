import { z } from 'zod';
import type { ConvoyError } from '../errors/convoy-error.js';
import { instanceResultSchema } from './instance-result.js';
import type { Progress } from './progress.js';

/** Reply to an accepted command. */
export const successReplySchema = z.object({
  success: z.literal(true),
  waitingFor: z
    .array(z.string())
    .optional()
    .describe(
      'Ids of the instances that have not taken a command of the whole fleet. It is recorded, and they take it by ' +
        'themselves; absent when all have.',
    ),
});

/** Reply to every failed request, whatever its path and status. */
export const failureReplySchema = z.object({
  success: z.literal(false),
  error: z.string().describe('Stable name of the failure, listed in docs/reference/errors.md.'),
  errorDescription: z.string().describe('What happened and what to do.'),
  instances: z
    .array(instanceResultSchema)
    .optional()
    .describe("Each instance's reply to a fleet command, in the order of ids."),
});

/** Reply to an accepted command. */
export type SuccessReply = z.output<typeof successReplySchema>;
/** Reply to every failed request. */
export type FailureReply = z.output<typeof failureReplySchema>;
/** The reply of `GET /api/v1/progress`. */
export interface ProgressReply<Report extends Progress = Progress> {
  success: true;
  progress: Report;
}

/** The failure body of an error. Its cause, stack and message stay in the process. */
export function failureReply(error: ConvoyError): FailureReply {
  const { instances } = error;
  return {
    success: false,
    error: error.error,
    errorDescription: error.errorDescription,
    ...(instances !== undefined && { instances: [...instances] }),
  };
}
