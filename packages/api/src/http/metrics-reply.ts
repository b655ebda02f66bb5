/** Prometheus text format, which every scraper reads. */
const textType = 'text/plain; version=0.0.4; charset=utf-8';
/** OpenMetrics 1.0, for clients that accept it, as Prometheus does. */
const openMetricsType = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** Path of the metrics for Prometheus. */
export const METRICS_PATH = '/metrics';

export interface MetricsReply {
  readonly contentType: string;
  readonly body: string;
}

/**
 * The reply of `/metrics` in the format that the client accepts.
 * @param accept its Accept header
 * @param text the metrics in the Prometheus text format
 */
export function metricsReply(accept: string | undefined, text: string): MetricsReply {
  if (accept?.includes('application/openmetrics-text') !== true) return { contentType: textType, body: text };
  return { contentType: openMetricsType, body: openMetrics(text) };
}

/** OpenMetrics names a counter without the `_total` of its samples, allows no empty lines and ends with `# EOF`. */
function openMetrics(text: string): string {
  const lines = text.split('\n').filter((line) => line !== '');
  const counters = new Set(lines.flatMap((line) => /^# TYPE (\S+)_total counter$/.exec(line)?.[1] ?? []));
  const named = lines.map((line) =>
    line.replace(/^(# (?:TYPE|HELP) )(\S+)_total /, (whole, begin: string, name: string) =>
      counters.has(name) ? `${begin}${name} ` : whole,
    ),
  );
  return `${named.join('\n')}\n# EOF\n`;
}
