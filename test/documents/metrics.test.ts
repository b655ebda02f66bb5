import { describe, expect, test } from 'vitest';
import { metricsReply } from '@convoy/api/http/metrics-reply';
import { documentTable, plainText } from './document-table.js';
import { coordinatorText, instanceText, metricsIn } from '../delivery/metric-texts.js';
import { hasPromtool, promtool } from '../delivery/promtool.js';

/** Convoy's own metrics, each with its labels as the document writes them. */
function metricsOf(text: string): string[] {
  const own = [...metricsIn(text)].filter(([name]) => name.startsWith('convoy_'));
  return own.map(([name, labels]) => withLabels(name, [...labels])).sort();
}

function documented(heading: string): string[] {
  const names = documentTable('docs/reference/metrics.md', heading).rows.map(([name]) => plainText(name));
  return names
    .map((text) => {
      const [, name = '', labels = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(text) ?? [];
      return withLabels(name, labels === '' ? [] : labels.split(', '));
    })
    .sort();
}

function withLabels(name: string, labels: readonly string[]): string {
  return labels.length === 0 ? name : `${name}{${[...labels].sort().join(', ')}}`;
}

describe('docs/reference/metrics.md', () => {
  test('names every metric of an instance once with its labels, and no other', async () => {
    expect(documented('Instance')).toEqual(metricsOf(await instanceText()));
  });

  test('names every metric of a coordinator once with its labels, and no other', async () => {
    expect(documented('Coordinator')).toEqual(metricsOf(await coordinatorText()));
  });
});

describe('the text of /metrics', () => {
  test.skipIf(!hasPromtool)('is clean for promtool check metrics (promtool)', async () => {
    expect(promtool(['check', 'metrics'], await instanceText())).toBe('');
    expect(promtool(['check', 'metrics'], await coordinatorText())).toBe('');
  });

  test('is well-formed OpenMetrics for who asks for it', async () => {
    for (const text of [await instanceText(), await coordinatorText()]) {
      const lines = metricsReply('application/openmetrics-text', text).body.split('\n');
      expect(lines.slice(-2)).toEqual(['# EOF', '']);
      expect(lines.slice(0, -1).filter((line) => line === '')).toEqual([]);
      const counters = lines.flatMap((line) => /^# TYPE (\S+) counter$/.exec(line)?.[1] ?? []);
      expect(counters.filter((name) => name.endsWith('_total'))).toEqual([]);
      for (const name of counters)
        expect(
          lines.some((line) => line.startsWith(`${name}_total`)),
          name,
        ).toBe(true);
    }
  });
});
