import type { ChartSeries } from '../dashboard/views/chart-series.js';
import { markup } from './markup.js';

const width_px = 720;
const height_px = 140;
const labels_px = 18;

/**
 * One line over time as SVG, without scripts, so that it looks the same everywhere.
 * @param text formats a value, for the label of the highest one
 */
export function svgChart(title: string, { times, values }: ChartSeries, text: (value: number) => string): string {
  const known = values.filter((value): value is number => value !== null);
  const [first = 0, last = 0] = [times[0], times.at(-1)];
  if (known.length < 2 || last <= first) return markup`<p class="none">${title}: not enough data.</p>`;
  const highest = Math.max(...known, Number.MIN_VALUE);
  const x = (time: number): string => (((time - first) / (last - first)) * width_px).toFixed(1);
  const y = (value: number): string => (labels_px + (1 - value / highest) * (height_px - labels_px)).toFixed(1);
  const label = `${title}, highest ${text(Math.max(...known))}`;
  return `<svg viewBox="0 0 ${width_px} ${height_px}" role="img" aria-label="${markup`${label}`}">
<text x="0" y="12">${markup`${label}`}</text>
<path d="${pathOf(times, values, x, y)}"/>
</svg>`;
}

/** A gap in the series is a gap in the line. */
function pathOf(
  times: readonly number[],
  values: readonly (number | null)[],
  x: (time: number) => string,
  y: (value: number) => string,
): string {
  let isDrawing = false;
  return times
    .map((time, at) => {
      const value = values[at] ?? null;
      const step = value === null ? '' : `${isDrawing ? 'L' : 'M'}${x(time)} ${y(value)}`;
      isDrawing = value !== null;
      return step;
    })
    .join('');
}
