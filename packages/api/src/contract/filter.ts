import { z } from 'zod';

/** Option letters of the server's `$regex`: ignore case, multiline anchors, dot matches newline, extended, UTF. */
const PATTERN_OPTION_LETTERS = /^[imsxu]*$/;

export const patternSchema = z
  .strictObject({
    pattern: z.string().min(1, 'must not be empty'),
    options: z
      .string()
      .regex(PATTERN_OPTION_LETTERS, 'takes the letters i, m, s, x and u only')
      .default('')
      .describe('Option letters of $regex, in any order: i, m, s and u.'),
  })
  .describe('A regular expression matched against names, without look-around and back-references.');

const nameSchema = z.string().min(1, 'must not be empty');

/** One element of `includeNamespaces` or `excludeNamespaces`; both have the same shape. */
export const namespaceSelectorSchema = z
  .strictObject({
    database: nameSchema.optional().describe('Name of one database.'),
    databaseRegex: patternSchema.optional().describe('Selects databases by pattern, in place of database.'),
    collections: z
      .array(nameSchema)
      .min(1, 'must name at least one collection, leave it out to select all')
      .optional()
      .describe('Names of collections; with collectionsRegex the union of both.'),
    collectionsRegex: patternSchema.optional().describe('Selects collections by pattern.'),
  })
  .superRefine((selector, context) => {
    if (selector.database === undefined && selector.databaseRegex === undefined) {
      context.addIssue({ code: 'custom', path: ['database'], message: 'is required unless databaseRegex is given' });
    }
    if (selector.database !== undefined && selector.databaseRegex !== undefined) {
      context.addIssue({ code: 'custom', path: ['databaseRegex'], message: 'cannot be given together with database' });
    }
  });

/** A list of selectors. An empty list filters nothing. */
export const namespaceFilterSchema = z.array(namespaceSelectorSchema).default([]);

/** A pattern with its option letters; `''` without any. */
export type NamePattern = z.output<typeof patternSchema>;

/** Selects collections of `database`, or of databases that match `databaseRegex`; exactly one is present. */
export type NamespaceSelector = z.output<typeof namespaceSelectorSchema>;
