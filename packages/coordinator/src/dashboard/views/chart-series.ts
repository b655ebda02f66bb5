import type { HistoryPoint } from '@convoy/api/contract/history';

/** Data of one chart: times in seconds since 1970 and a value for each, null for unknown. */
export interface ChartSeries {
  readonly times: readonly number[];
  readonly values: readonly (number | null)[];
}

/** Stats that a chart shows unchanged. */
export type LevelStat = 'copiedBytes' | 'copiedDocuments' | 'eventsApplied' | 'lagSeconds';

/** A stat at each point. */
export function levelSeries(points: readonly HistoryPoint[], stat: LevelStat): ChartSeries {
  return { times: points.map(({ at_ms }) => at_ms / 1000), values: points.map((point) => point[stat]) };
}

/** Growth per second of an increasing stat since the previous point; a fall (a restarted process) counts as unknown. */
export function rateSeries(points: readonly HistoryPoint[], stat: 'eventsApplied' | 'copiedBytes'): ChartSeries {
  const values = points.map((point, at): number | null => {
    const before = points[at - 1];
    const [now, then] = [point[stat], before?.[stat] ?? null];
    if (before === undefined || now === null || then === null || now < then) return null;
    return (now - then) / Math.max(0.001, (point.at_ms - before.at_ms) / 1000);
  });
  return { times: points.map(({ at_ms }) => at_ms / 1000), values };
}

/** A chart as a sentence, for screen readers. */
export function seriesText({ values }: ChartSeries, text: (value: number) => string): string {
  const known = values.filter((value): value is number => value !== null);
  const last = known.at(-1);
  if (last === undefined) return 'no data yet';
  const highest = Math.max(...known);
  return highest === last ? `now ${text(last)}` : `now ${text(last)}, highest ${text(highest)}`;
}

/** Labels of an axis, without repeated ones. */
export function axisLabels(values: readonly number[], text: (value: number) => string): string[] {
  const labels = values.map(text);
  return labels.map((label, at) => (label === labels[at - 1] ? '' : label));
}

/** The local time of a mark: with seconds for marks less than a minute apart, as a date for marks days apart. */
export function axisTime(at_seconds: number, step_seconds: number): string {
  const at = new Date(at_seconds * 1000);
  if (step_seconds >= 86_400) return at.toLocaleDateString('en-GB', { day: '2-digit', month: 'short' });
  return at.toLocaleTimeString('en-GB', {
    hour: '2-digit',
    minute: '2-digit',
    ...(step_seconds < 60 && { second: '2-digit' }),
  });
}
