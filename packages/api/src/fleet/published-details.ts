import { z } from 'zod';
import { historySchema } from '../contract/history.js';
import { LOG_RECORDS_MAX, logRecordSchema } from '../contract/log-record.js';
import { partitionCountsSchema } from './instance-stats.js';

/** Maximum collections that one instance publishes. Larger and more active ones come first; the rest is summed up. */
export const NAMESPACES_PUBLISHED_MAX = 10_000;

const count = z.number().nonnegative();

/** One instance's part in one collection. */
export const namespacePartSchema = z.object({
  namespace: z.string(),
  /** Estimated before the copy. */
  totalBytes: count,
  copiedBytes: count,
  copiedDocuments: count,
  partitions: partitionCountsSchema,
});

/** The collections of one instance. */
export const namespacesDetailsSchema = z.object({
  rows: z.array(namespacePartSchema).max(NAMESPACES_PUBLISHED_MAX),
  /** Number and sums of the collections that are not in the rows. */
  others: z.object({ collections: count, totalBytes: count, copiedBytes: count, copiedDocuments: count }),
});

/** Result of the last preflight checks. */
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

/** The last warnings and errors of an instance's log. */
export const logsDetailsSchema = z.object({ records: z.array(logRecordSchema).max(LOG_RECORDS_MAX) });

/**
 * Details that instances publish besides reports, because they are too large to send several times a second. Each
 * instance publishes its own `namespaces`, `preflight` and `logs`; the leader publishes the fleet's `history`.
 */
export const detailSchemas = {
  namespaces: namespacesDetailsSchema,
  preflight: preflightDetailsSchema,
  history: historySchema,
  logs: logsDetailsSchema,
};

/** Topic of published details. */
export type DetailTopic = keyof typeof detailSchemas;
/** Published details by topic. */
export type PublishedDetails = { [Topic in DetailTopic]: z.output<(typeof detailSchemas)[Topic]> };
export type NamespacePart = z.output<typeof namespacePartSchema>;
