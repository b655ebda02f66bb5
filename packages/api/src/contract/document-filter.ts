import { z } from 'zod';

/** Maximum filters of a request; each is part of every report of the options. */
const DOCUMENT_FILTERS_MAX = 100;

const documentFilterSchema = z.strictObject({
  database: z.string().min(1, 'must not be empty'),
  collection: z.string().min(1, 'must not be empty'),
  filter: z
    .union([z.record(z.string(), z.unknown()), z.string().min(2, 'must be a query in Extended JSON')])
    .describe('A query as find takes it, in Extended JSON: an object, or its text.'),
});

/** Queries that choose the documents of some collections; other collections are migrated as a whole. */
export const documentFiltersSchema = z
  .array(documentFilterSchema)
  .min(1, 'must name at least one collection, leave it out to migrate all documents')
  .max(DOCUMENT_FILTERS_MAX, `must not have more than ${DOCUMENT_FILTERS_MAX} elements`)
  .superRefine((filters, context) => {
    const seen = new Set<string>();
    filters.forEach(({ database, collection }, position) => {
      const namespace = JSON.stringify([database, collection]);
      if (seen.has(namespace))
        context.addIssue({ code: 'custom', path: [position], message: 'names a collection a second time' });
      seen.add(namespace);
    });
  });

/** The filter of one collection. In normal form `filter` is text, so that no storage reorders its fields. */
export type DocumentFilter = z.output<typeof documentFilterSchema>;

/** The query as text: Extended JSON. */
export function filterText({ filter }: Pick<DocumentFilter, 'filter'>): string {
  return typeof filter === 'string' ? filter : JSON.stringify(filter);
}
