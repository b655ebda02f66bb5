import { z } from 'zod';
import { carrySchema } from './carry.js';
import { documentFiltersSchema } from './document-filter.js';
import { namespaceFilterSchema, namespaceSelectorSchema } from './filter.js';
import { namespaceRemapSchema } from './namespace-remap.js';
import { shardingSchema } from './sharding.js';
import { verificationSchema } from './verification.js';
import { writeBlockingSchema } from './write-blocking.js';

/**
 * Values of `buildIndexes`: all indexes before or after the copy, all but hashed ones before or after it, or none but
 * those that shard keys need.
 */
export const buildIndexesValues = [
  'beforeDataCopy',
  'afterDataCopy',
  'excludeHashed',
  'excludeHashedAfterCopy',
  'never',
] as const;

/** Values of `indexConflicts`, for an index that differs between the shards of the source. */
export const indexConflictsValues = ['refuse', 'majority', 'skip'] as const;

/** Values of `indexFailures`, for an index that the destination cannot build. */
export const indexFailuresValues = ['refuse', 'skip'] as const;

/** The body of `POST /api/v1/start`, field by field; `normaliseStartRequest` has the rules between fields. */
export const startRequestSchema = z.strictObject({
  source: z.string().min(1, 'must not be empty').describe('Name of the source cluster.'),
  destination: z.string().min(1, 'must not be empty').describe('Name of the destination cluster.'),
  buildIndexes: z
    .enum(buildIndexesValues)
    .default('beforeDataCopy')
    .describe('When indexes are built, and which. Those that shard keys need are built at once.'),
  indexConflicts: z
    .enum(indexConflictsValues)
    .optional()
    .describe(
      'What to do about an index that differs between shards of the source: refuse the start (default), take the ' +
        'form of most shards, or skip it.',
    ),
  indexFailures: z
    .enum(indexFailuresValues)
    .optional()
    .describe('What to do about an index that the destination cannot build: refuse it (default), or skip it.'),
  enableUserWriteBlocking: writeBlockingSchema
    .default(false)
    .describe('Whose users cannot write: of the destination until it opens, of the source from the commit on.'),
  includeNamespaces: namespaceFilterSchema.describe('Migrates only these namespaces.'),
  excludeNamespaces: namespaceFilterSchema.describe('Namespaces to leave out of the included ones.'),
  reversible: z.boolean().default(false),
  keepBalancer: z
    .boolean()
    .optional()
    .describe("Leaves the source's balancer on; needs a source that is read through its routers."),
  copyInNaturalOrder: z
    .array(namespaceSelectorSchema)
    .optional()
    .describe('Namespaces to copy in the order of their records; needs a source whose shards are read directly.'),
  detectRandomId: z
    .boolean()
    .optional()
    .describe('Copies large collections with random _ids in the order of their records.'),
  sharding: shardingSchema.optional().describe('Required from a replica set to a sharded cluster, otherwise rejected.'),
  documentFilter: documentFiltersSchema
    .optional()
    .describe('Migrates only the documents of some collections that match a query.'),
  namespaceRemap: namespaceRemapSchema
    .optional()
    .describe('Databases and collections that get another name on the destination. Filters name the source.'),
  carry: carrySchema
    .optional()
    .describe('What the commit takes along besides the collections: users, zones, settings. Nothing by default.'),
  verification: verificationSchema.default({ enabled: true }),
});

/**
 * A start request in normal form, with every default filled in: equal requests have equal forms. It is itself a valid
 * body. Empty filter lists filter nothing; `sharding` is absent when it was not given.
 */
export type StartRequest = z.output<typeof startRequestSchema>;

/** A start body as a client sends it; fields with defaults are optional. */
export type StartRequestBody = z.input<typeof startRequestSchema>;
