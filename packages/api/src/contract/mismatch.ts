import { z } from 'zod';
import { ConvoyError } from '../errors/convoy-error.js';

/** Kinds of mismatches: the first four concern a document, the others a namespace. */
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
  path: z.string().describe('Field path with dots; empty for the whole document.'),
  kind: z.enum(['changed', 'missingOnDestination', 'extraOnDestination', 'order']),
  sourceType: z.string().optional(),
  destinationType: z.string().optional(),
});

/** One line of `GET /api/v1/verification/mismatches`. It holds only the `_id`, paths and types of documents. */
export const mismatchSchema = z
  .object({
    namespace: z.string(),
    destination: z.string().optional().describe('Its name on the destination, where that is another one.'),
    kind: z.enum(mismatchKinds),
    _id: z.unknown().describe('Canonical extended JSON; null for a namespace.'),
    paths: z.array(pathSchema),
    detail: z
      .string()
      .nullable()
      .describe('The difference of a namespace, or the unique index with duplicate keys; null otherwise.'),
    firstSeen: z.string(),
    lastSeen: z.string(),
    looks: z.int().positive().describe('How many comparisons found it.'),
    proven: z.boolean().describe('False while a pending change may resolve it.'),
  })
  .describe('A difference between source and destination.');

/** A difference between source and destination. */
export type Mismatch = z.output<typeof mismatchSchema>;

const limitDefault = 10_000;
const limitMax = 1_000_000;

const querySchema = z.strictObject({
  kind: z.enum(mismatchKinds).optional(),
  namespace: z.string().min(1).optional(),
  limit: z.coerce.number().int().min(1).max(limitMax).default(limitDefault),
});

/** Filter of a mismatch request. */
export type MismatchQuery = z.output<typeof querySchema>;

/** @throws ConvoyError `invalidRequest` */
export function parseMismatchQuery(query: unknown): MismatchQuery {
  const parsed = querySchema.safeParse(query);
  if (parsed.success) return parsed.data;
  throw new ConvoyError(
    'invalidRequest',
    `The parameters are kind (${mismatchKinds.join(', ')}), namespace and limit (1 to ${limitMax}).`,
  );
}
