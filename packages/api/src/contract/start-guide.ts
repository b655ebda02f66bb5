import { z } from 'zod';
import { preflightDetailsSchema, sourceListingSchema } from '../fleet/published-details.js';

const success = z.literal(true);

/** The reply of `GET /api/v1/source`: the source's collections, the largest first, and both clusters. */
export const sourceReplySchema = z.object({
  success,
  ...sourceListingSchema.pick({ at_ms: true, clusters: true, rows: true, unlisted: true }).shape,
});

/** The reply of `POST /api/v1/check`: the preflight checks for the options, without a start. */
export const checkReplySchema = z.object({
  success,
  ...preflightDetailsSchema.pick({ canStart: true, items: true }).shape,
});

/** The reply of `GET /api/v1/source`. */
export type SourceReply = z.output<typeof sourceReplySchema>;
/** The reply of `POST /api/v1/check`. */
export type CheckReply = z.output<typeof checkReplySchema>;
