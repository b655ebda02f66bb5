import { z } from 'zod';
import { commitBlockerSchema } from './commit-blocker.js';
import { handOverSchema } from './hand-over.js';
import { historySchema } from './history.js';
import { inventorySchema } from './inventory.js';
import { migrationStates, warningSchema } from './progress.js';

const amount = z.number().nonnegative();
const nullableAmount = amount.nullable();

/** How the migration stands, in one word: the result of verification, or why there is none. */
export const verdictKinds = ['verified', 'differs', 'verifying', 'notVerified', 'failed', 'notStarted'] as const;

/**
 * A migration from its start to now. A coordinator serves the report while it knows of an instance: otherwise the
 * route answers `fleetIncomplete` or `redisUnavailable`. Times are milliseconds since 1970.
 */
export const migrationReportSchema = z.object({
  madeAt_ms: z.number(),
  releases: z.array(z.string()).describe('Releases of the instances, each once.'),
  source: z.string().nullable(),
  destination: z.string().nullable(),
  state: z.enum(migrationStates).or(z.literal('FAILED')),
  verdict: z.object({ kind: z.enum(verdictKinds), text: z.string() }),
  nextStep: z.string(),
  startedAt_ms: z.number().nullable(),
  endedAt_ms: z.number().nullable().describe('When the migration was committed or failed.'),
  elapsed_seconds: nullableAmount,
  copied: z.object({ bytes: nullableAmount, totalBytes: nullableAmount, documents: nullableAmount }),
  eventsApplied: nullableAmount,
  longestLag_seconds: nullableAmount,
  indexes: z.object({ built: amount, total: amount }).nullable(),
  collections: z.object({
    rows: z.array(
      z.object({
        namespace: z.string(),
        /** The collection's namespace on the destination; absent when it is the same. */
        destination: z.string().optional(),
        totalBytes: amount,
        copiedBytes: amount,
        copiedDocuments: amount,
      }),
    ),
    /** Sums of the collections that have no row of their own. */
    others: z.object({ collections: amount, totalBytes: amount, copiedBytes: amount, copiedDocuments: amount }),
  }),
  instances: z.array(
    z.object({ id: z.string(), state: z.enum(migrationStates).nullable(), error: z.string().nullable() }),
  ),
  warnings: z.array(warningSchema),
  commitBlockers: z.array(commitBlockerSchema),
  handOver: handOverSchema.nullable(),
  inventory: inventorySchema.nullable().describe('Null until an instance has read it.'),
  history: historySchema.nullable(),
});

/** The reply of `GET /api/v1/report`. */
export const reportReplySchema = z.object({ success: z.literal(true), report: migrationReportSchema });

export type MigrationReport = z.output<typeof migrationReportSchema>;
export type Verdict = MigrationReport['verdict'];
