import { z } from 'zod';

const count = z.number();

/** What comparing a partition, or a part of it, has read and found. */
const partStats = z.object({ sourceDocuments: count, destinationDocuments: count, bytes: count, suspects: count });

/** What comparing a partition, or a part of it, has read and found. */
export type PartStats = z.output<typeof partStats>;

/** One step of a comparison that is never repeated once it stands in the journal. */
const journalEntry = z.discriminatedUnion('step', [
  /** A process has begun to work on the comparison, or goes on with it. */
  z.object({ step: z.literal('run'), run: count }),
  /** A partition was compared to its end; of its suspects those of this attempt count. */
  z.object({ step: z.literal('done'), partition: count, attempt: count, stats: partStats }),
  /** As `done` for everything below `bound`; the rest is a partition of its own. */
  z.object({
    step: z.literal('split'),
    partition: count,
    attempt: count,
    stats: partStats,
    bound: z.string(),
    rest: count,
  }),
  /** Suspects of the generation before up to `offset` were looked at again; lengths of the files and numbers of `_id`s afterwards. */
  z.object({
    step: z.literal('look'),
    generation: count,
    offset: count,
    suspectsLength: count,
    mismatchesLength: count,
    suspects: count,
    mismatches: count,
    agreed: count,
  }),
  /** The suspects of this generation are all known; the next one begins. */
  z.object({ step: z.literal('generation'), generation: count }),
]);

/** One step of a comparison that is never repeated once it stands in the journal. */
export type JournalEntry = z.output<typeof journalEntry>;

/** @throws ZodError for a line that is none */
export function parseJournalEntry(line: unknown): JournalEntry {
  return journalEntry.parse(line);
}
