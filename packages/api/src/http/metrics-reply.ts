/** Prometheus' own text format, which every scraper reads. */
const textType = 'text/plain; version=0.0.4; charset=utf-8';
/** OpenMetrics 1.0, for those who ask for it, as Prometheus does. */
const openMetricsType = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** Path of the figures for Prometheus. */
export const METRICS_PATH = '/metrics';

export interface MetricsReply {
  readonly contentType: string;
  readonly body: string;
}

/**
 * The reply of `/metrics` in the format that the client asks for.
 * @param accept its Accept header
 * @param text the figures in Prometheus' text format
 */
export function metricsReply(accept: string | undefined, text: string): MetricsReply {
  if (accept?.includes('application/openmetrics-text') !== true) return { contentType: textType, body: text };
  return { contentType: openMetricsType, body: openMetrics(text) };
}

/** OpenMetrics names a counter without the `_total` of its samples, has no empty lines, and tells where it ends. */
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
