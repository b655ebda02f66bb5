import { z } from 'zod';
import type { ConvoyError } from '../errors/convoy-error.js';
import { instanceResultSchema } from './instance-result.js';
import type { Progress } from './progress.js';

/** The reply of a command that was accepted. */
export const successReplySchema = z.object({ success: z.literal(true) });

/** The reply of everything that failed, whatever its path and status. */
export const failureReplySchema = z.object({
  success: z.literal(false),
  error: z.string().meta({ description: 'Stable name of the failure, listed in docs/errors.md.' }),
  errorDescription: z.string().meta({ description: 'What was found and what to do.' }),
  instances: z
    .array(instanceResultSchema)
    .optional()
    .meta({
      description: 'What each instance has answered to a command that was sent to a fleet, in the order of ids.',
    }),
});

/** The reply of a command that was accepted. */
export type SuccessReply = z.output<typeof successReplySchema>;
/** The reply of everything that failed. */
export type FailureReply = z.output<typeof failureReplySchema>;
/** The reply of `GET /api/v1/progress`. */
export interface ProgressReply<Report extends Progress = Progress> {
  success: true;
  progress: Report;
}

/** The failure body of an error; its cause, stack and message stay in the process. */
export function failureReply(error: ConvoyError): FailureReply {
  const { instances } = error;
  return {
    success: false,
    error: error.error,
    errorDescription: error.errorDescription,
    ...(instances !== undefined && { instances: [...instances] }),
  };
}
