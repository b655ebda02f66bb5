import {
  HISTORY_POINTS_MAX,
  TIMELINE_ENTRIES_MAX,
  type History,
  type HistoryPoint,
  type TimelineEntry,
} from '@convoy/api/contract/history';

/** Initial time between two points; it doubles for the first time after a quarter of an hour. */
const firstInterval_ms = 2_000;
/** The first entries show how the migration started and are never dropped. */
const firstEntriesKept = 40;
const textCharactersMax = 1_000;

export function emptyHistory(): History {
  return { interval_ms: firstInterval_ms, points: [], timeline: [], entriesDropped: 0 };
}

/**
 * Adds a point, or only its lag when the last point is nearer than the interval. At the bound the interval doubles and
 * every two points become one.
 */
export function withPoint(history: History, point: HistoryPoint): History {
  const last = history.points.at(-1);
  if (last !== undefined && point.at_ms < last.at_ms + history.interval_ms) return withLag(history, last, point);
  if (history.points.length < HISTORY_POINTS_MAX) return { ...history, points: [...history.points, point] };
  return withPoint({ ...history, interval_ms: history.interval_ms * 2, points: halved(history.points) }, point);
}

/** Raises the lag of the last point to that of `point`. */
function withLag(history: History, last: HistoryPoint, { lagSeconds }: HistoryPoint): History {
  if (lagSeconds === null || (last.lagSeconds !== null && last.lagSeconds >= lagSeconds)) return history;
  return { ...history, points: [...history.points.slice(0, -1), { ...last, lagSeconds }] };
}

/** Keeps the later of two neighbours with the larger lag, so that peaks stay visible. */
function halved(points: readonly HistoryPoint[]): HistoryPoint[] {
  const kept: HistoryPoint[] = [];
  for (let at = 0; at < points.length; at += 2) {
    const [first, second] = [points[at], points[at + 1]];
    const later = second ?? first;
    if (first === undefined || later === undefined) continue;
    kept.push({ ...later, lagSeconds: largest(first.lagSeconds, later.lagSeconds) });
  }
  return kept;
}

function largest(left: number | null, right: number | null): number | null {
  if (left === null || right === null) return left ?? right;
  return Math.max(left, right);
}

/** Adds entries; at the bound the oldest after the first few are dropped. */
export function withEntries(history: History, entries: readonly TimelineEntry[]): History {
  if (entries.length === 0) return history;
  const timeline = [
    ...history.timeline,
    ...entries.map((entry) => ({ ...entry, text: entry.text.slice(0, textCharactersMax) })),
  ];
  const surplus = Math.max(0, timeline.length - TIMELINE_ENTRIES_MAX);
  if (surplus > 0) timeline.splice(firstEntriesKept, surplus);
  return { ...history, timeline, entriesDropped: history.entriesDropped + surplus };
}
