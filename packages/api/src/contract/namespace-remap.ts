import { z } from 'zod';

/** Maximum elements of a request; each is part of every report of the options. */
const REMAPS_MAX = 1_000;
/** Servers refuse database names of 64 bytes and more, and these characters on some platform (manual, "Limits"). */
const DATABASE_BYTES_MAX = 63;
const DATABASE_FORBIDDEN = /[/\\. "$*<>:|?]/;
const COLLECTION_FORBIDDEN = /\$|^\.|\.$|^system\./;

const nameSchema = z
  .string()
  .min(1, 'must not be empty')
  .refine((name) => !name.includes('\0'), 'must not contain a null character');

const sourceSchema = z.strictObject({ database: nameSchema, collection: nameSchema.optional() });

const destinationSchema = z.strictObject({
  database: nameSchema
    .refine((name) => bytesOf(name) <= DATABASE_BYTES_MAX, `must not exceed ${DATABASE_BYTES_MAX} bytes`)
    .refine((name) => !DATABASE_FORBIDDEN.test(name), 'must be a name that databases can have on every platform'),
  collection: nameSchema
    .refine((name) => !COLLECTION_FORBIDDEN.test(name), 'must be a name that users can give to collections')
    .optional(),
});

const elementSchema = z
  .strictObject({
    from: sourceSchema.describe(
      'A collection of the source, or a database: all of its collections without an element of their own.',
    ),
    to: destinationSchema.describe('Its name on the destination.'),
  })
  .superRefine(({ from, to }, context) => {
    if ((from.collection === undefined) !== (to.collection === undefined))
      context.addIssue({
        code: 'custom',
        message: 'must map a database to a database or a collection to a collection',
      });
  });

/** Namespaces that get another name on the destination, one to one; an element of a collection is the stronger one. */
export const namespaceRemapSchema = z
  .array(elementSchema)
  .min(1, 'must have at least one element, leave it out to keep all names')
  .max(REMAPS_MAX, `must not have more than ${REMAPS_MAX} elements`)
  .superRefine((elements, context) => {
    for (const side of ['from', 'to'] as const) {
      const seen = new Set<string>();
      elements.forEach(({ [side]: namespace }, position) => {
        const name = remapText(namespace);
        if (seen.has(name))
          context.addIssue({ code: 'custom', path: [position, side], message: `names ${name} a second time` });
        seen.add(name);
      });
    }
  });

/** Namespaces of the source with their names on the destination. */
export type NamespaceRemap = z.output<typeof namespaceRemapSchema>;

/** A database or collection as users write it: `shop` or `shop.orders`. */
export function remapText({ database, collection }: NamespaceRemap[number]['from']): string {
  return collection === undefined ? database : `${database}.${collection}`;
}

/** The names of a collection on both sides as one text; one name where it is the same. */
export function bothNames(namespace: string, destination?: string): string {
  return destination === undefined || destination === namespace ? namespace : `${namespace} → ${destination}`;
}

function bytesOf(name: string): number {
  return new TextEncoder().encode(name).length;
}
