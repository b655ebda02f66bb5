import type { MonitoredFleet } from './monitored-fleet.js';
import type { Prometheus, Series } from './prometheus.js';
import { readMonitoring } from './rules.js';

/** A panel of docs/monitoring/grafana-board.json. */
export interface Panel {
  readonly title: string;
  readonly type: 'stat' | 'gauge' | 'timeseries';
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly fieldConfig: { readonly defaults: { readonly unit: string } };
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
}

/** A panel with the series of its queries. */
export interface EvaluatedPanel extends Omit<Panel, 'targets'> {
  readonly queries: readonly { readonly expr: string; readonly series: readonly NamedSeries[] }[];
}

export interface NamedSeries {
  /** The legend. */
  readonly name: string;
  readonly values: Series['values'];
}

/** Span of time in seconds since 1970. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Four scrapes and more, as Grafana takes it. */
const rateInterval = '10s';
/** About as many points as a panel has pixels. */
const pointsMax = 400;

interface Variable {
  readonly name: string;
  readonly type: string;
  readonly query: string | { readonly query: string };
}

interface Board {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly Variable[] };
}

function readBoard(): Board {
  return JSON.parse(readMonitoring('grafana-board.json')) as Board;
}

/**
 * The values of a variable of the board that Prometheus answers, sorted.
 * @param fleet the chosen fleet; undefined for *All*
 */
export async function valuesOf(prometheus: Prometheus, variable: string, fleet = '.*'): Promise<readonly string[]> {
  const query = readBoard().templating.list.find(({ name }) => name === variable)?.query;
  const text = typeof query === 'object' ? query.query : '';
  const [, series, label] = /^label_values\((.*), (\w+)\)$/.exec(text) ?? [];
  if (series === undefined || label === undefined) throw new Error(`The board has no variable ${variable}.`);
  return prometheus.labelValues(label, series.replaceAll('$fleet', fleet));
}

/**
 * Asks Prometheus what Grafana would ask it for a fleet.
 * @throws Error when Prometheus refuses a query
 */
export function evaluatePanels(
  prometheus: Prometheus,
  { name }: Pick<MonitoredFleet, 'name'>,
  span: Span,
): Promise<EvaluatedPanel[]> {
  const step_seconds = Math.max(1, Math.ceil((span.to - span.from) / pointsMax));
  return Promise.all(
    readBoard().panels.map(async ({ targets, ...panel }) => ({
      ...panel,
      queries: await Promise.all(
        targets.map(async ({ expr, legendFormat }) => {
          const query = expr
            .replaceAll('ALERTS{', 'ALERTS{scale="document", ')
            .replaceAll('$fleet', name)
            .replaceAll('$instance', '.*')
            .replaceAll('$__rate_interval', rateInterval);
          const found = await prometheus.queryRange(query, span.from, span.to, step_seconds);
          const series = found.map(({ metric, values }) => ({ name: legendOf(legendFormat, metric), values }));
          return { expr, series };
        }),
      ),
    })),
  );
}

/** The queries without a single number in any of the evaluations. */
export function emptyQueries(evaluations: readonly (readonly EvaluatedPanel[])[]): string[] {
  const all = new Map<string, boolean>();
  for (const { title, queries } of evaluations.flat())
    for (const { expr, series } of queries) {
      const hasNumbers = series.some(({ values }) => values.some(([, value]) => value !== 'NaN'));
      const name = `${title}: ${expr}`;
      all.set(name, (all.get(name) ?? false) || hasNumbers);
    }
  return [...all].filter(([, hasNumbers]) => !hasNumbers).map(([name]) => name);
}

function legendOf(format: string, metric: Series['metric']): string {
  return format.replace(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? '').trim();
}
