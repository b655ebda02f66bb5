import { z } from 'zod';
import { ConvoyError } from '../errors/convoy-error.js';

/** What can be wrong: the first four with a document, the others with a namespace. */
export const mismatchKinds = [
  'missingOnDestination',
  'extraOnDestination',
  'different',
  'duplicate',
  'missing',
  'extra',
  'options',
  'index',
  'shardKey',
  'order',
] as const;

const pathSchema = z.object({
  path: z.string().meta({ description: 'Names on the way to the field, joined by dots; empty: the whole document.' }),
  kind: z.enum(['changed', 'missingOnDestination', 'extraOnDestination', 'order']),
  sourceType: z.string().optional(),
  destinationType: z.string().optional(),
});

/** One line of `GET /api/v1/verification/mismatches`. Of documents it holds the `_id`, paths and types alone. */
export const mismatchSchema = z
  .object({
    namespace: z.string(),
    kind: z.enum(mismatchKinds),
    _id: z.unknown().meta({ description: 'Canonical extended JSON; null where a namespace differs.' }),
    paths: z.array(pathSchema),
    detail: z
      .string()
      .nullable()
      .meta({
        description: 'What differs about a namespace, or the unique index whose key documents share; null for others.',
      }),
    firstSeen: z.string(),
    lastSeen: z.string(),
    looks: z.int().positive().meta({ description: 'How often it was found to differ.' }),
    proven: z.boolean().meta({ description: 'False while a change may be on its way.' }),
  })
  .meta({ description: 'A difference between source and destination.' });

/** A difference between source and destination. */
export type Mismatch = z.output<typeof mismatchSchema>;

const limitDefault = 10_000;
const limitMax = 1_000_000;

const querySchema = z.strictObject({
  kind: z.enum(mismatchKinds).optional(),
  namespace: z.string().min(1).optional(),
  limit: z.coerce.number().int().min(1).max(limitMax).default(limitDefault),
});

/** Which mismatches are asked for. */
export type MismatchQuery = z.output<typeof querySchema>;

/** @throws ConvoyError `invalidRequest` */
export function parseMismatchQuery(query: unknown): MismatchQuery {
  const parsed = querySchema.safeParse(query);
  if (parsed.success) return parsed.data;
  throw new ConvoyError(
    'invalidRequest',
    `Of the parameters there are kind (${mismatchKinds.join(', ')}), namespace and limit (1 to ${limitMax}).`,
  );
}
