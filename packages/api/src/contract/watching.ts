import { z } from 'zod';
import { namespacePartSchema, preflightDetailsSchema } from '../fleet/published-details.js';
import { commandNames } from './commands.js';
import { historySchema } from './history.js';

const count = z.number().nonnegative();
const success = z.literal(true);

/** The reply of `GET /api/v1/history`. */
export const historyReplySchema = z.object({ success, history: historySchema.nullable() });

/** The reply of `GET /api/v1/namespaces`. */
export const namespacesReplySchema = z.object({
  success,
  total: count,
  matching: count.describe('Number of collections that match the search.'),
  offset: count.describe('Position of the first row among them.'),
  rows: z.array(
    namespacePartSchema.extend({
      instances: count.describe('Instances with a part of the collection.'),
    }),
  ),
  others: z
    .object({ collections: count, totalBytes: count, copiedBytes: count, copiedDocuments: count })
    .describe('Sums over matching collections that are not in the rows.'),
});

/** The reply of `GET /api/v1/preflight`: results of the last preflight checks, by instance. */
export const preflightReplySchema = z.object({ success, reports: z.record(z.string(), preflightDetailsSchema) });

/** The reply of `GET /api/v1/commands`: commands sent through this process, with each instance's reply. */
export const commandsReplySchema = z.object({
  success,
  commands: z.array(
    z.object({
      commandId: z.string(),
      at_ms: z.number(),
      name: z.enum(commandNames),
      success: z.boolean(),
      results: z.record(
        z.string(),
        z.object({ success: z.boolean(), error: z.string().optional(), errorDescription: z.string().optional() }),
      ),
      waitingFor: z.array(z.string()),
    }),
  ),
});

/** The reply of `GET /api/v1/access`. */
export const accessReplySchema = z.object({ success, mayCommand: z.boolean() });
