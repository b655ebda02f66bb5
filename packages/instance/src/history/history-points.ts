import {
  HISTORY_POINTS_MAX,
  TIMELINE_ENTRIES_MAX,
  type History,
  type HistoryPoint,
  type TimelineEntry,
} from '@convoy/api/contract/history';

/** Time between two points at the beginning: a quarter of an hour later it doubles for the first time. */
const firstInterval_ms = 2_000;
/** The first entries tell how it began and are kept. */
const firstEntriesKept = 40;
const textCharactersMax = 1_000;

/** A course in which nothing has happened. */
export function emptyHistory(): History {
  return { interval_ms: firstInterval_ms, points: [], timeline: [], entriesDropped: 0 };
}

/** Takes a point in, or its lag alone when the one before is nearer than the interval; at the bound every two points become one. */
export function withPoint(history: History, point: HistoryPoint): History {
  const last = history.points.at(-1);
  if (last !== undefined && point.at_ms < last.at_ms + history.interval_ms) return withLag(history, last, point);
  if (history.points.length < HISTORY_POINTS_MAX) return { ...history, points: [...history.points, point] };
  return withPoint({ ...history, interval_ms: history.interval_ms * 2, points: halved(history.points) }, point);
}

/** A lag that is larger than that of the point before stands there. */
function withLag(history: History, last: HistoryPoint, { lagSeconds }: HistoryPoint): History {
  if (lagSeconds === null || (last.lagSeconds !== null && last.lagSeconds >= lagSeconds)) return history;
  return { ...history, points: [...history.points.slice(0, -1), { ...last, lagSeconds }] };
}

/** The later of two neighbours, with the larger lag of both: what stood out is still seen. */
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

/** Takes entries in; at the bound those after the first few make room. */
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
