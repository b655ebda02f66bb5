import { z } from 'zod';
import { namespaceFilterSchema } from './filter.js';
import { shardingSchema } from './sharding.js';
import { verificationSchema } from './verification.js';

/** The body of `POST /api/v1/start`, field by field; rules between fields are in `normaliseStartRequest`. */
export const startRequestSchema = z.strictObject({
  source: z.string().min(1, 'must not be empty').meta({ description: 'Name of the source cluster.' }),
  destination: z.string().min(1, 'must not be empty').meta({ description: 'Name of the destination cluster.' }),
  buildIndexes: z.enum(['beforeDataCopy', 'never']).default('beforeDataCopy'),
  enableUserWriteBlocking: z.boolean().default(false),
  includeNamespaces: namespaceFilterSchema.meta({ description: 'Only what is selected here is migrated.' }),
  excludeNamespaces: namespaceFilterSchema.meta({ description: 'Taken away from what is included.' }),
  reversible: z.boolean().default(false),
  sharding: shardingSchema
    .optional()
    .meta({ description: 'Required from a replica set to a sharded cluster, else refused.' }),
  verification: verificationSchema.default({ enabled: true }),
});

/**
 * A start request with every default filled in, in normal form: what means the same is the same.
 * It is itself a valid body. Empty filter lists filter nothing; `sharding` is absent when it was not given.
 */
export type StartRequest = z.output<typeof startRequestSchema>;

/** A start body as a client writes it: defaults may be left out. */
export type StartRequestBody = z.input<typeof startRequestSchema>;
