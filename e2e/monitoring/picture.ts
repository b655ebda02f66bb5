import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { startBrowser } from '@convoy/testbed/browser/browser';
import type { EvaluatedPanel, NamedSeries, Span } from './board.js';

/** The dashboard's library of charts. */
const require = createRequire(import.meta.resolve('@convoy/coordinator/server/fleet-metrics'));
/** Keeps a clone small. */
const bytesMax = 200_000;
const width = 1440;
/** More than a step of a query. */
const endWithin_seconds = 3;
/** Of one of the 24 columns of Grafana's grid, and of one of its rows. */
const [column, row, gap, titleHeight] = [60, 24, 8, 26];

/**
 * Draws the panels in Grafana's grid, with the lines of the time span, as a PNG.
 * @throws Error when the file is too large, or there is no browser
 */
export async function drawBoard(panels: readonly EvaluatedPanel[], span: Span, file: string): Promise<number> {
  const browser = await startBrowser();
  try {
    const page = await browser.newPage({ viewport: { width, height: 600 }, deviceScaleFactor: 1 });
    await page.setContent(document(panels, span));
    await page.waitForFunction('window.isDrawn === true');
    const png = await page.screenshot({ fullPage: true });
    if (png.length > bytesMax) throw new Error(`${file} has ${png.length} bytes; ${bytesMax} are the limit.`);
    writeFileSync(file, png);
    return png.length;
  } finally {
    await browser.close();
  }
}

function document(panels: readonly EvaluatedPanel[], span: Span): string {
  const rows = Math.max(...panels.map(({ gridPos }) => gridPos.y + gridPos.h));
  const data = JSON.stringify({ panels: panels.map((panel) => drawn(panel, span)), span }).replaceAll('<', '\\u003c');
  return `<!doctype html><style>${readFileSync(require.resolve('uplot/dist/uPlot.min.css'), 'utf8')}
    body { margin: 0; position: relative; height: ${rows * row + gap}px; background: #f4f5f5; font: 12px sans-serif; }
    .panel { position: absolute; box-sizing: border-box; overflow: hidden; }
    .panel { background: #fff; border: 1px solid #dcdcdd; }
    h2 { font-size: 13px; font-weight: 600; margin: 6px 8px 0; height: ${titleHeight - 6}px; }
    p { font-size: 22px; margin: 4px 8px; color: #1a7f4b; white-space: nowrap; }
    .u-legend { font-size: 10px; text-align: left; } .u-legend .u-value { display: none; }
    .u-legend.u-inline .u-series { margin: 0 4px; } .u-legend th::after { display: none !important; }
    .u-legend .u-series:first-child { display: none; }
    </style><body></body><script>${readFileSync(require.resolve('uplot/dist/uPlot.iife.min.js'), 'utf8')}</script>
    <script>(${script})(${data})</script>`;
}

/** A panel in pixels: the last value of each series, or one array of times and one of values for each series. */
function drawn({ title, type, gridPos: { x, y, w, h }, fieldConfig, queries }: EvaluatedPanel, span: Span): unknown {
  const isChart = type === 'timeseries';
  // Single values are asked for at the end alone.
  const isShown = ({ values }: NamedSeries): boolean =>
    isChart || (values.at(-1)?.[0] ?? 0) > span.to - endWithin_seconds;
  const series = queries.flatMap((query) => query.series).filter(isShown);
  const times = [...new Set(series.flatMap(({ values }) => values.map(([at]) => at)))].sort((a, b) => a - b);
  const columns = series.map(({ values }) => {
    const byTime = new Map(values);
    return times.map((at) => numberOf(byTime.get(at)));
  });
  return {
    title,
    isChart,
    unit: fieldConfig.defaults.unit,
    place: [x * column + gap / 2, y * row + gap / 2, w * column - gap, h * row - gap],
    names: series.map(({ name }) => name),
    last: columns.map((values) => values.findLast((value) => value !== null) ?? null),
    data: [times.map((at) => at - span.from), ...columns],
  };
}

function numberOf(text: string | undefined): number | null {
  const value = text === undefined ? NaN : Number(text);
  return Number.isFinite(value) ? value : null;
}

/** What the page runs, as text, since this project has no types of browsers. */
const script = `({ panels, span }) => {
  const inMillions = (v) => (v / 1e6).toFixed(v < 1e7 ? 1 : 0) + ' MB';
  const byThousands = (v) => v >= 1e6 ? inMillions(v) : v >= 1e3 ? v / 1e3 + ' kB' : v + ' B';
  const colours = ['#3274d9', '#56a64b', '#ff9830', '#e02f44', '#8f3bb8', '#00a3a3', '#b877d9', '#707070'];
  const units = {
    bytes: byThousands,
    Bps: (v) => byThousands(v) + '/s',
    s: (v) => v !== 0 && v < 1 ? (v * 1000).toFixed(0) + ' ms' : +v.toFixed(1) + ' s',
    percent: (v) => v.toFixed(0) + ' %',
    bool_yes_no: (v) => v === 1 ? 'Yes' : 'No',
    ops: (v) => v + '/s',
    short: (v) => v >= 1e4 ? v / 1e3 + ' k' : String(v),
  };
  for (const { title, isChart, unit, place: [left, top, width, height], names, last, data } of panels) {
    const panel = document.body.appendChild(document.createElement('div'));
    panel.className = 'panel';
    Object.assign(panel.style, { left: left + 'px', top: top + 'px', width: width + 'px', height: height + 'px' });
    panel.appendChild(document.createElement('h2')).textContent = title;
    if (!isChart) {
      const texts = title === 'State' ? names : last.filter((v) => v !== null).map((v) => units[unit](v));
      panel.appendChild(document.createElement('p')).textContent = texts.join(', ') || 'unknown';
      continue;
    }
    const points = { show: false };
    const lines = names.map((label, at) => ({ label, points, stroke: colours[at % colours.length], width: 1.5 }));
    const seconds = (_, splits) => splits.map((at) => at + ' s');
    const x = { time: false, range: [0, span.to - span.from] };
    const y = { range: (_, min, max) => [0, max > 0 ? max * 1.1 : 1] };
    new uPlot({
      width: width - 8, height: height - ${titleHeight} - (names.join('-----').length * 6 > width ? 44 : 24),
      series: [{}, ...lines],
      cursor: { show: false },
      scales: { x, y },
      axes: [
        { size: 34, font: '10px sans-serif', values: seconds },
        { size: 56, font: '10px sans-serif', values: (_, splits) => splits.map((v) => units[unit](v)) },
      ],
    }, data, panel);
  }
  requestAnimationFrame(() => requestAnimationFrame(() => { window.isDrawn = true; }));
}`;
