import { z } from 'zod';

/** Maximum fields of a compound index on the server, and therefore of a shard key. */
const SHARD_KEY_FIELDS_MAX = 32;

/** A valid field path of a shard key: no empty parts, and no part begins with `$`. */
const SHARD_KEY_FIELD = /^(?!\$)[^.\0]+(?:\.(?!\$)[^.\0]+)*$/;

const shardKeyElementSchema = z
  .record(z.string(), z.union([z.literal(1), z.literal('hashed')], 'must be 1 or "hashed"'))
  .superRefine((element, context) => {
    const fields = Object.keys(element);
    if (fields.length !== 1) {
      context.addIssue({ code: 'custom', message: `must have exactly one field, not ${fields.length}` });
    }
    for (const field of fields) {
      if (!SHARD_KEY_FIELD.test(field)) {
        context.addIssue({ code: 'custom', message: 'must have a valid field path as its name' });
      }
    }
  })
  .meta({ minProperties: 1, maxProperties: 1 });

const shardKeySchema = z
  .array(shardKeyElementSchema)
  .min(1, 'must have at least one field')
  .max(SHARD_KEY_FIELDS_MAX, `must not have more than ${SHARD_KEY_FIELDS_MAX} fields`)
  .superRefine((elements, context) => {
    const fields = elements.flatMap((element) => Object.keys(element));
    if (new Set(fields).size !== fields.length) {
      context.addIssue({ code: 'custom', message: 'must not name a field twice' });
    }
    const hashed = elements.filter((element) => Object.values(element).includes('hashed'));
    if (hashed.length > 1) {
      context.addIssue({ code: 'custom', message: 'must not have more than one hashed field' });
    }
  });

const shardingEntrySchema = z.strictObject({
  database: z.string().min(1, 'must not be empty'),
  collection: z.string().min(1, 'must not be empty'),
  shardCollection: z.strictObject({
    key: shardKeySchema.describe('Fields of the shard key in order, each as a document with one field.'),
  }),
});

const shardingEntriesSchema = z.array(shardingEntrySchema).superRefine((entries, context) => {
  const seen = new Set<string>();
  entries.forEach((entry, position) => {
    const namespace = JSON.stringify([entry.database, entry.collection]);
    if (seen.has(namespace)) {
      context.addIssue({ code: 'custom', path: [position], message: 'names a collection a second time' });
    }
    seen.add(namespace);
  });
});

/** The `sharding` document: how a replica set's collections are sharded on the destination. */
export const shardingSchema = z.strictObject({
  createSupportingIndexes: z.boolean().default(false).describe('Create missing supporting indexes.'),
  shardingEntries: shardingEntriesSchema.describe('Collections to shard; all others stay unsharded.'),
});

/** Normalised `sharding` document. */
export type Sharding = z.output<typeof shardingSchema>;
/** One collection to shard. */
export type ShardingEntry = z.output<typeof shardingEntrySchema>;
