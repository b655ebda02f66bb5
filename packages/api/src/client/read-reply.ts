import { z } from 'zod';
import { failureReplySchema } from '../contract/reply.js';
import { ConvoyError } from '../errors/convoy-error.js';
import { isErrorName } from '../errors/table.js';

/** Schema of a progress reply with the given kind of report. */
export function progressReplySchema<Report>(report: z.ZodType<Report>): z.ZodType<{ success: true; progress: Report }> {
  return z.object({ success: z.literal(true), progress: report });
}

/**
 * The error of a failure body; undefined when the body is not a failure.
 * A name that the table lacks (another release's) becomes `unexpectedReply` with the name in its description.
 */
export function failureOf(body: unknown): ConvoyError | undefined {
  const result = failureReplySchema.safeParse(body);
  if (!result.success) return undefined;
  const { error, errorDescription, instances } = result.data;
  if (isErrorName(error)) return new ConvoyError(error, errorDescription, { instances });
  return new ConvoyError('unexpectedReply', `${error}: ${errorDescription}`, { instances });
}

/** Parses the body and drops fields of later releases; undefined when the schema does not match. */
export function readReply<Reply>(body: unknown, schema: z.ZodType<Reply>): Reply | undefined {
  const result = schema.safeParse(body);
  return result.success ? result.data : undefined;
}
