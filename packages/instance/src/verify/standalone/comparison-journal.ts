import { z } from 'zod';
import { textOfValue, valueOfText } from '../../bson/sent-value.js';
import type { Suspect } from '../compare/check-again.js';

const count = z.number();

/** What comparing a partition, or a part of it, has read and found. */
const partStats = z.object({ sourceDocuments: count, destinationDocuments: count, bytes: count, suspects: count });

/** What comparing a partition, or a part of it, has read and found. */
export type PartStats = z.output<typeof partStats>;

/** One step of a comparison; once it is in the journal, it is never repeated. */
const journalEntry = z.discriminatedUnion('step', [
  /** A process started to work on the comparison, or continues it. */
  z.object({ step: z.literal('run'), run: count }),
  /** A partition was compared to its end; only the suspects of this attempt count. */
  z.object({ step: z.literal('done'), partition: count, attempt: count, stats: partStats }),
  /** Like `done` for everything below `bound`; the rest is a partition of its own. */
  z.object({
    step: z.literal('split'),
    partition: count,
    attempt: count,
    stats: partStats,
    bound: z.string(),
    rest: count,
  }),
  /**
   * Suspects of the previous generation up to `offset` were checked again; file lengths and numbers of `_id`s
   * afterwards.
   */
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
  /** All suspects of this generation are known; the next one starts. */
  z.object({ step: z.literal('generation'), generation: count }),
]);

/** One step of a comparison; once it is in the journal, it is never repeated. */
export type JournalEntry = z.output<typeof journalEntry>;

/** @throws ZodError for a malformed line */
export function parseJournalEntry(line: unknown): JournalEntry {
  return journalEntry.parse(line);
}

const storedSuspect = z.object({
  collection: z.number(),
  partition: z.number(),
  attempt: z.number(),
  id: z.string(),
  kind: z.enum(['missingOnDestination', 'extraOnDestination', 'different']),
  source: z.string(),
  destination: z.string(),
  unchangedSince_ms: z.number(),
  unchangedLooks: z.number(),
  firstSeen_ms: z.number(),
  looks: z.number(),
});

/** A suspect, and where it was found. */
export type StoredSuspect = SuspectOrigin & Suspect;

/** Where a suspect was found. */
export interface SuspectOrigin {
  collection: number;
  partition: number;
  /** The attempt to compare the partition that found it. */
  attempt: number;
}

export function storeSuspect(origin: SuspectOrigin, suspect: Suspect): z.output<typeof storedSuspect> {
  return { ...origin, ...suspect, id: textOfValue(suspect.id) };
}

/** @throws ZodError for a malformed line */
export function restoreSuspect(line: unknown): StoredSuspect {
  const stored = storedSuspect.parse(line);
  return { ...stored, id: valueOfText(stored.id) };
}
