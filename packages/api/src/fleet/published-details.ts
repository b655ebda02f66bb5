import { z } from 'zod';
import { historySchema } from '../contract/history.js';
import { partitionCountsSchema } from './instance-stats.js';

/** Collections that one instance tells of at most; larger and more active ones come first, the rest is summed up. */
export const NAMESPACES_PUBLISHED_MAX = 10_000;

const count = z.number().nonnegative();

/** One instance's part in one collection. */
export const namespacePartSchema = z.object({
  namespace: z.string(),
  /** Estimate made before the copy. */
  totalBytes: count,
  copiedBytes: count,
  copiedDocuments: count,
  partitions: partitionCountsSchema,
});

/** The collections of one instance. */
export const namespacesDetailsSchema = z.object({
  rows: z.array(namespacePartSchema).max(NAMESPACES_PUBLISHED_MAX),
  /** Collections that are not among the rows, and their sums. */
  others: z.object({ collections: count, totalBytes: count, copiedBytes: count, copiedDocuments: count }),
});

/** What the last check before a start has found. */
export const preflightDetailsSchema = z.object({
  at_ms: z.number(),
  canStart: z.boolean(),
  items: z
    .array(
      z.object({
        check: z.string(),
        result: z.enum(['passed', 'warning', 'failed', 'unchecked']),
        error: z.string().nullable(),
        description: z.string(),
      }),
    )
    .max(100),
});

/**
 * What is posted for those who ask, besides reports: too large to be told several times a second. `namespaces` and
 * `preflight` are each instance's own; the `history` is the fleet's and posted by the leader.
 */
export const detailSchemas = {
  namespaces: namespacesDetailsSchema,
  preflight: preflightDetailsSchema,
  history: historySchema,
};

/** What a post is about. */
export type DetailTopic = keyof typeof detailSchemas;
/** The content of a post by its topic. */
export type PublishedDetails = { [Topic in DetailTopic]: z.output<(typeof detailSchemas)[Topic]> };
export type NamespacePart = z.output<typeof namespacePartSchema>;
