import { z } from 'zod';
import { commitBlockerSchema } from './commit-blocker.js';
import { historySchema } from './history.js';
import { migrationStates, warningSchema } from './progress.js';

const count = z.number().nonnegative();
const nullableCount = count.nullable();

/** Result of comparing both clusters. */
export const verdictKinds = ['verified', 'differs', 'verifying', 'notVerified', 'failed', 'notStarted'] as const;

/**
 * A migration from its start to now, for the record. The report is available as long as the migration's metadata
 * exists. Times are milliseconds since 1970.
 */
export const migrationReportSchema = z.object({
  madeAt_ms: z.number(),
  releases: z.array(z.string()).meta({ description: 'Releases of the instances, each once.' }),
  source: z.string().nullable(),
  destination: z.string().nullable(),
  state: z.enum(migrationStates).or(z.literal('FAILED')),
  verdict: z.object({ kind: z.enum(verdictKinds), text: z.string() }),
  nextStep: z.string(),
  startedAt_ms: z.number().nullable(),
  endedAt_ms: z.number().nullable().meta({ description: 'When the migration was committed or failed.' }),
  elapsed_seconds: nullableCount,
  copied: z.object({ bytes: nullableCount, totalBytes: nullableCount, documents: nullableCount }),
  eventsApplied: nullableCount,
  longestLag_seconds: nullableCount,
  indexes: z.object({ built: count, total: count }).nullable(),
  collections: z.object({
    rows: z.array(
      z.object({
        namespace: z.string(),
        /** Its name on the destination; absent when it is the same. */
        destination: z.string().optional(),
        totalBytes: count,
        copiedBytes: count,
        copiedDocuments: count,
      }),
    ),
    others: z.object({ collections: count, totalBytes: count, copiedBytes: count, copiedDocuments: count }),
  }),
  instances: z.array(
    z.object({ id: z.string(), state: z.enum(migrationStates).nullable(), error: z.string().nullable() }),
  ),
  warnings: z.array(warningSchema),
  commitBlockers: z.array(commitBlockerSchema),
  history: historySchema.nullable(),
});

/** The reply of `GET /api/v1/report`. */
export const reportReplySchema = z.object({ success: z.literal(true), report: migrationReportSchema });

export type MigrationReport = z.output<typeof migrationReportSchema>;
export type Verdict = MigrationReport['verdict'];
