import { z } from 'zod';

/** Points of the whole course: at the bound two neighbours become one, and points come half as often. */
export const HISTORY_POINTS_MAX = 720;
/** Entries of the time line; at the bound the oldest but the first few go. */
export const TIMELINE_ENTRIES_MAX = 400;

const stat = z.number().nonnegative().nullable();

/** The fleet's figures at one moment. */
export const historyPointSchema = z.object({
  at_ms: z.number(),
  copiedBytes: stat,
  totalBytes: stat,
  copiedDocuments: stat,
  eventsApplied: stat,
  lagSeconds: stat,
});

/** Something that happened. */
export const timelineEntrySchema = z.object({
  at_ms: z.number(),
  /** Stable word for what it is about. */
  kind: z.enum(['state', 'phase', 'leader', 'instance', 'warning', 'failure', 'command']),
  /** The worst is `bad`. */
  level: z.enum(['info', 'good', 'warning', 'bad']),
  text: z.string().max(1_000),
});

/** The course of a migration, from its start on, in a fixed number of points. */
export const historySchema = z.object({
  /** Time between two points; doubles whenever all points are taken. */
  interval_ms: z.number().positive(),
  points: z.array(historyPointSchema).max(HISTORY_POINTS_MAX),
  timeline: z.array(timelineEntrySchema).max(TIMELINE_ENTRIES_MAX),
  /** Entries that had to make room. */
  entriesDropped: z.number().nonnegative(),
});

export type HistoryPoint = z.output<typeof historyPointSchema>;
export type TimelineEntry = z.output<typeof timelineEntrySchema>;
/** What `GET /api/v1/history` shows. */
export type History = z.output<typeof historySchema>;
