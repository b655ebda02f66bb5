import { expect, test } from 'vitest';
import { metricsReply } from '@convoy/api/http/metrics-reply';

const text =
  '# HELP a_total Things.\n# TYPE a_total counter\na_total 3\n\n# HELP b_total A gauge with a bad name.\n# ' +
  'TYPE b_total gauge\nb_total 1\n';

test('returns the text format unchanged by default', () => {
  expect(metricsReply(undefined, text)).toEqual({
    contentType: expect.stringContaining('text/plain; version=0.0.4') as string,
    body: text,
  });
  expect(metricsReply('*/*', text).body).toBe(text);
});

test('OpenMetrics names counters without their suffix, and ends with EOF', () => {
  const { contentType, body } = metricsReply('application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3', text);
  expect(contentType).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
  expect(body).toBe(
    '# HELP a Things.\n# TYPE a counter\na_total 3\n# HELP b_total A gauge with a bad name.\n# TYPE b_total ' +
      'gauge\nb_total 1\n# EOF\n',
  );
});
