import type { HistoryPoint, TimelineEntry } from '@convoy/api/contract/history';
import type { InventoryTable } from '@convoy/api/contract/inventory';
import type { MigrationReport } from '@convoy/api/contract/migration-report';
import { bothNames } from '@convoy/api/contract/namespace-remap';
import { type ChartSeries, levelSeries, rateSeries } from '../dashboard/views/chart-series.js';
import { inventoryCells, inventorySummary } from '../dashboard/views/inventory-view.js';
import { byteRateText, bytesText, countText, durationText, eventRateText } from '../dashboard/views/quantity.js';

const style = `
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5a6675; --rule: #d9dee5; --accent: #2563a8; --paper: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6eaf0; --soft: #9aa6b4; --rule: #333d49; --accent: #6aa9ea; --paper: #141a21; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem; 
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.verdict { border-left: 4px solid var(--accent); padding: 0.4rem 0 0.4rem 1rem; font-size: 1.1rem; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: 0.6rem 1.5rem; }
dt { color: var(--soft); font-size: 0.85rem; } dd { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
 th, td { text-align: left; padding: 0.25rem 0.5rem; border-bottom: 1px solid var(--rule); }
.wide { overflow-x: auto; } .besides td { min-width: 6.5rem; } .besides td:last-child { min-width: 14rem; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; } td { overflow-wrap: anywhere; }
svg { width: 100%; height: auto; margin: 0.5rem 0; } svg path { fill: none; stroke: var(--accent); stroke-width: 1.5; }
svg text { fill: var(--soft); font-size: 12px; } .none { color: var(--soft); }
`;

/** A report as one file without external resources and scripts. */
export function reportPage(report: MigrationReport): string {
  const title = `Migration of ${report.source ?? 'a cluster'} to ${report.destination ?? 'another'}`;
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${markup`${title}`}</title><style>${style}</style></head>
<body>
<h1>${markup`${title}`}</h1>
<p>${markup`State ${report.state} at ${timeText(report.madeAt_ms)}`}</p>
<p class="verdict">${markup`${report.verdict.text}`}</p>
<p><strong>Next:</strong> ${markup`${report.nextStep}`}</p>
${numbers(report)}
${charts(report.history?.points ?? [])}
${collections(report.collections)}
${warnings(report)}
${handOver(report.handOver)}
${inventory(report.inventory)}
${timeline(report.history?.timeline ?? [])}
</body>
</html>
`;
}

function numbers(report: MigrationReport): string {
  const { copied, indexes, instances } = report;
  const rows: readonly (readonly [string, string])[] = [
    ['Started', timeText(report.startedAt_ms)],
    ['Ended', timeText(report.endedAt_ms)],
    ['Took', durationText(report.elapsed_seconds)],
    ['Copied', `${bytesText(copied.bytes)} of ${bytesText(copied.totalBytes)}`],
    ['Documents copied', countText(copied.documents)],
    ['Change events applied', countText(report.eventsApplied)],
    ['Longest lag', durationText(report.longestLag_seconds)],
    ['Indexes built', indexes === null ? '–' : `${countText(indexes.built)} of ${countText(indexes.total)}`],
    ['Instances', instances.map(({ id }) => id).join(', ')],
    ['Release', report.releases.join(', ')],
  ];
  return `<dl>${rows.map(([name, value]) => markup`<div><dt>${name}</dt><dd>${value}</dd></div>`).join('')}</dl>`;
}

function charts(points: readonly HistoryPoint[]): string {
  return `<h2>Rates</h2>
${svgChart('Copied per second', rateSeries(points, 'copiedBytes'), byteRateText)}
${svgChart('Change events per second', rateSeries(points, 'eventsApplied'), eventRateText)}
${svgChart('Lag', levelSeries(points, 'lagSeconds'), durationText)}`;
}

function collections({ rows, others }: MigrationReport['collections']): string {
  const cell = (text: string): string => markup`<td class="number">${text}</td>`;
  const line = (name: string, row: { totalBytes: number; copiedBytes: number; copiedDocuments: number }): string =>
    `<tr>${markup`<td>${name}</td>`}${cell(countText(row.copiedDocuments))}` +
    `${cell(bytesText(row.copiedBytes))}${cell(bytesText(row.totalBytes))}</tr>`;
  const rest = others.collections === 0 ? '' : line(`${countText(others.collections)} others`, others);
  return `<h2>Collections</h2>
<div class="wide" tabindex="0"><table>
<thead><tr><th>Namespace</th>${['Documents', 'Copied', 'Estimated size'].map(headOf).join('')}</tr></thead>
<tbody>${rows.map((row) => line(bothNames(row.namespace, row.destination), row)).join('\n')}${rest}</tbody>
</table></div>`;
}

function warnings({ warnings: present, commitBlockers }: MigrationReport): string {
  const texts = [
    ...present.map(({ name, description }) => `${name}: ${description}`),
    ...commitBlockers.map(({ instance, description }) => `A commit waits for ${instance}: ${description}`),
  ];
  if (texts.length === 0) return '<h2>Warnings</h2><p class="none">None.</p>';
  return `<h2>Warnings</h2><ul>${texts.map((text) => markup`<li>${text}</li>`).join('\n')}</ul>`;
}

function handOver(times: MigrationReport['handOver']): string {
  if (times === null) return '';
  const row = (name: string, { t, i, at }: { t: number; i: number; at: string }): string =>
    markup`<div><dt>${name}</dt><dd>Timestamp(${String(t)}, ${String(i)}), ${at}</dd></div>`;
  return `<h2>Change streams</h2><dl>${row('The source is complete up to', times.source)}${row(
    'Begin on the destination at',
    times.destination,
  )}</dl>`;
}

function inventory(found: MigrationReport['inventory']): string {
  if (found === null || found.rows.length === 0) return '';
  const { source, destination, reverse } = found;
  const back = reverse === null ? '' : `<h3>In a reverse</h3>\n${inventoryTable(reverse, destination, source)}`;
  return `<h2>Besides data</h2>\n${inventoryTable(found, source, destination)}${back}`;
}

function inventoryTable(table: InventoryTable, source: string, destination: string): string {
  const rows = table.rows.map((row) => {
    const cells = inventoryCells(row);
    const all = [cells.kind, cells.name, cells.action, cells.source, cells.destination, cells.description];
    return `<tr>${all.map((cell) => markup`<td>${cell}</td>`).join('')}</tr>`;
  });
  // The outcome first, as in the dashboard: a phone shows three columns.
  const heads = ['What', 'Name', 'What Convoy does', `On ${source}`, `On ${destination}`, 'What to do'];
  return `${markup`<p>${inventorySummary(table)}</p>`}
<div class="wide besides" tabindex="0"><table>
<thead><tr>${heads.map((head) => markup`<th>${head}</th>`).join('')}</tr></thead>
<tbody>${rows.join('\n')}</tbody></table></div>`;
}

function timeline(entries: readonly TimelineEntry[]): string {
  const rows = entries.map(({ at_ms, text }) => markup`<tr><td>${timeText(at_ms)}</td><td>${text}</td></tr>`);
  return `<h2>Timeline</h2><table><tbody>${rows.join('\n')}</tbody></table>`;
}

function headOf(title: string): string {
  return markup`<th class="number">${title}</th>`;
}

/** In UTC, since readers may be anywhere. */
function timeText(at_ms: number | null): string {
  return at_ms === null ? '–' : `${new Date(at_ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

const width_px = 720;
const height_px = 140;
const labels_px = 18;

/**
 * One line over time as SVG, without scripts, so that it looks the same everywhere.
 * @param text formats a value, for the label of the highest one
 */
function svgChart(title: string, { times, values }: ChartSeries, text: (value: number) => string): string {
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

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** HTML from a template; every value is escaped as text. */
function markup(pieces: TemplateStringsArray, ...values: readonly string[]): string {
  const written = values.map((value) => value.replace(/[&<>"']/g, (sign) => entities[sign] ?? sign));
  return String.raw({ raw: pieces }, ...written);
}
