import { z } from 'zod';
import { migrationStates } from './progress.js';

/** Maximum points of a history. At the bound neighbouring points merge and the interval doubles. */
export const HISTORY_POINTS_MAX = 720;
/** Maximum entries of the timeline. At the bound the oldest entries go, except for the first few. */
export const TIMELINE_ENTRIES_MAX = 400;

const stat = z.number().nonnegative().nullable();

/** The fleet's stats at one moment. */
export const historyPointSchema = z.object({
  at_ms: z.number(),
  copiedBytes: stat,
  totalBytes: stat,
  copiedDocuments: stat,
  eventsApplied: stat,
  lagSeconds: stat,
});

/** One event of the timeline. */
export const timelineEntrySchema = z.object({
  at_ms: z.number(),
  /** Stable name of the topic. */
  kind: z.enum(['state', 'phase', 'leader', 'instance', 'warning', 'failure', 'command']),
  /** Severity, from `info` to `bad`. */
  level: z.enum(['info', 'good', 'warning', 'bad']),
  text: z.string().max(1_000),
  /** The state that the fleet is in from then on, where the entry is about that. */
  state: z.enum(migrationStates).optional(),
});

/** The history of a migration since its start, with a bounded number of points. */
export const historySchema = z.object({
  /** Time between two points; doubles whenever the points reach their bound. */
  interval_ms: z.number().positive(),
  points: z.array(historyPointSchema).max(HISTORY_POINTS_MAX),
  timeline: z.array(timelineEntrySchema).max(TIMELINE_ENTRIES_MAX),
  /** Number of dropped entries. */
  entriesDropped: z.number().nonnegative(),
});

export type HistoryPoint = z.output<typeof historyPointSchema>;
export type TimelineEntry = z.output<typeof timelineEntrySchema>;
/** The `history` of `GET /api/v1/history`. */
export type History = z.output<typeof historySchema>;
