import { z } from 'zod';

/** Maximum documents in `progress.hotDocuments`. */
export const HOT_DOCUMENTS_MAX = 10;

/** How the changes of a hot document are applied. */
export const appliedBy = ['folding', 'rereading'] as const;

const count = z.int().nonnegative();

export const hotDocumentSchema = z.object({
  namespace: z.string(),
  document: z
    .string()
    .describe('Stands for the _id, which convoy progress --hot-documents shows; changes when the instance restarts.'),
  changesPerSecond: count,
  workerPercent: count.describe('Its part of all changes of its apply worker.'),
  appliedBy: z
    .enum(appliedBy)
    .describe('folding: one write has many of its changes. rereading: it is read from the source again and again.'),
});

/** A document that changes more often than its apply worker sends writes. */
export type HotDocument = z.output<typeof hotDocumentSchema>;

/** The fastest of several lists, at most `HOT_DOCUMENTS_MAX`. */
export function hottest<One extends HotDocument>(lists: readonly (readonly One[])[]): One[] {
  return lists
    .flat()
    .sort((a, b) => b.changesPerSecond - a.changesPerSecond || (a.document < b.document ? -1 : 1))
    .slice(0, HOT_DOCUMENTS_MAX);
}
