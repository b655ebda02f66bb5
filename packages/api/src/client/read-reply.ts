import { z } from 'zod';
import { failureReplySchema } from '../contract/reply.js';
import { ConvoyError } from '../errors/convoy-error.js';
import { isErrorName } from '../errors/table.js';

/** The schema of a progress reply with one kind of report. */
export function progressReplySchema<Report>(report: z.ZodType<Report>): z.ZodType<{ success: true; progress: Report }> {
  return z.object({ success: z.literal(true), progress: report });
}

/**
 * The error of a failure body; undefined when it is none.
 * A name of another release that is not in the table becomes `unexpectedReply` with the name in its description.
 */
export function failureOf(body: unknown): ConvoyError | undefined {
  const result = failureReplySchema.safeParse(body);
  if (!result.success) return undefined;
  const { error, errorDescription, instances } = result.data;
  if (isErrorName(error)) return new ConvoyError(error, errorDescription, { instances });
  return new ConvoyError('unexpectedReply', `${error}: ${errorDescription}`, { instances });
}

/** The body read with a schema, fields of later releases left out; undefined when it does not fit. */
export function readReply<Reply>(body: unknown, schema: z.ZodType<Reply>): Reply | undefined {
  const result = schema.safeParse(body);
  return result.success ? result.data : undefined;
}
