import type uPlot from 'uplot';
import type { HistoryPoint } from '@convoy/api/contract/history';
import { byId, make, setText } from './dom.js';
import { axisLabels, axisTime, type ChartSeries, levelSeries, rateSeries, seriesText } from './views/chart-series.js';
import { byteRateText, bytesText, countText, durationText, eventRateText } from './views/quantity.js';

/** Path of the chart library. */
const chartsModule: string = '/dashboard/charts/uPlot.esm.js';

interface ChartKind {
  readonly id: string;
  readonly title: string;
  /** Name of a colour in the style sheet. */
  readonly colour: string;
  readonly text: (value: number) => string;
  readonly series: (points: readonly HistoryPoint[]) => ChartSeries;
}

interface Chart {
  readonly kind: ChartKind;
  readonly chart: uPlot;
  readonly summary: HTMLElement;
  readonly box: HTMLElement;
}

const kinds: readonly ChartKind[] = [
  {
    id: 'bytes',
    title: 'Bytes copied',
    colour: '--chart-1',
    text: bytesText,
    series: (points) => levelSeries(points, 'copiedBytes'),
  },
  {
    id: 'rate',
    title: 'Copy rate',
    colour: '--chart-1',
    text: byteRateText,
    series: (points) => rateSeries(points, 'copiedBytes'),
  },
  {
    id: 'documents',
    title: 'Documents copied',
    colour: '--chart-2',
    text: countText,
    series: (points) => levelSeries(points, 'copiedDocuments'),
  },
  {
    id: 'applied',
    title: 'Events applied',
    colour: '--chart-3',
    text: countText,
    series: (points) => levelSeries(points, 'eventsApplied'),
  },
  {
    id: 'events',
    title: 'Event rate',
    colour: '--chart-3',
    text: eventRateText,
    series: (points) => rateSeries(points, 'eventsApplied'),
  },
  {
    id: 'lag',
    title: 'Lag',
    colour: '--chart-4',
    text: durationText,
    series: (points) => levelSeries(points, 'lagSeconds'),
  },
];

/** A line needs two ends. */
const pointsMin = 2;
const height_px = 150;
/** About the mean width of a label's characters at the axes' font size; single ones are wider. */
const characterWidth_px = 7;
const axisWidthMin_px = 44;

/** Charts over the whole history. Dragging zooms all of them; a double click or the button resets the zoom. */
export class ChartsCard {
  readonly #place = byId('chart-list');
  #library: typeof uPlot | null = null;
  #charts: Chart[] = [];
  #points: readonly HistoryPoint[] = [];
  #isZoomed = false;

  /** Loads the library and creates the charts. */
  async open(): Promise<void> {
    this.#library = ((await import(chartsModule)) as { default: typeof uPlot }).default;
    this.rebuild();
    byId('chart-reset').addEventListener('click', () => this.#showAll());
    this.#place.addEventListener('dblclick', () => this.#showAll());
    new ResizeObserver(() => this.#resize()).observe(this.#place);
  }

  show(points: readonly HistoryPoint[]): void {
    this.#points = points;
    byId('charts').hidden = points.length < pointsMin;
    for (const { kind, chart, summary } of this.#charts) {
      const series = kind.series(points);
      chart.setData(dataOf(series), !this.#isZoomed);
      setText(summary, seriesText(series, kind.text));
    }
  }

  /** Creates all charts again, at full range: a canvas keeps the colours that it was drawn with. */
  rebuild(): void {
    if (this.#library === null) return;
    for (const { chart } of this.#charts) chart.destroy();
    this.#place.replaceChildren();
    this.#isZoomed = false;
    byId('chart-reset').hidden = true;
    const library = this.#library;
    this.#charts = kinds.map((kind) => this.#make(kind, library));
    this.show(this.#points);
  }

  #make(kind: ChartKind, Library: typeof uPlot): Chart {
    const summary = make('p', { class: 'chart-summary' });
    const box = make('div', { class: 'chart-box', 'aria-hidden': 'true' });
    this.#place.append(make('figure', {}, make('figcaption', {}, make('h3', {}, kind.title), summary), box));
    const chart = new Library(
      optionsOf(kind, box.clientWidth, () => this.#zoomed()),
      dataOf(kind.series(this.#points)),
      box,
    );
    return { kind, chart, summary, box };
  }

  #zoomed(): void {
    this.#isZoomed = true;
    byId('chart-reset').hidden = false;
  }

  #showAll(): void {
    this.#isZoomed = false;
    byId('chart-reset').hidden = true;
    this.show(this.#points);
  }

  #resize(): void {
    for (const { chart, box } of this.#charts)
      if (box.clientWidth > 0 && box.clientWidth !== chart.width)
        chart.setSize({ width: box.clientWidth, height: height_px });
  }
}

function dataOf({ times, values }: ChartSeries): uPlot.AlignedData {
  return [[...times], [...values]];
}

function optionsOf({ id, title, colour, text }: ChartKind, width: number, zoomed: () => void): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue('--ink-soft').trim();
  const line = style.getPropertyValue(colour).trim();
  const axis = {
    stroke: ink,
    grid: { stroke: style.getPropertyValue('--rule').trim(), width: 1 },
    ticks: { show: false },
    font: '11px Inter, system-ui',
  };
  return {
    id: `chart-${id}`,
    width: Math.max(200, width),
    height: height_px,
    cursor: { sync: { key: 'history', setSeries: false }, drag: { x: true, y: false } },
    legend: { show: false },
    scales: {
      x: { time: true },
      y: { range: (_chart, _min, max) => [0, Math.max(1, (Number.isFinite(max) ? max : 1) * 1.05)] },
    },
    axes: [
      {
        ...axis,
        size: 28,
        space: 60,
        values: (_chart, splits, _axis, _space, step_seconds) =>
          splits.map((at_seconds) => axisTime(at_seconds, step_seconds)),
      },
      {
        ...axis,
        size: (_chart, labels) => axisWidth(labels),
        space: 34,
        values: (_chart, splits) => axisLabels(splits, text),
      },
    ],
    series: [
      {},
      { label: title, stroke: line, width: 1.5, fill: `${line}22`, spanGaps: false, points: { show: false } },
    ],
    hooks: {
      setSelect: [
        (chart) => {
          if (chart.select.width > 0) zoomed();
        },
      ],
    },
  };
}

/** Width of the longest label in pixels, with its distance from the plot. The library first asks without labels. */
function axisWidth(labels: readonly string[] | null): number {
  const longest = Math.max(0, ...(labels ?? []).map(({ length }) => length));
  return Math.max(axisWidthMin_px, longest * characterWidth_px + 12);
}
