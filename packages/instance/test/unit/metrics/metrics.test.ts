import { expect, test } from 'vitest';
import { Metrics } from '../../../src/metrics/metrics.js';
import { readText, trackedFiles } from '../../../../../test/source-tree.js';

test('names follow the conventions of Prometheus', async () => {
  const metrics = new Metrics({ processMetrics: false });
  for (const metric of await metrics.registry.getMetricsAsJSON()) {
    expect(metric.name).toMatch(/^convoy_[a-z_]+$/);
    expect(metric.help).toMatch(/^[A-Z].*\.$/);
    expect(metric.name.endsWith('_total')).toBe(String(metric.type) === 'counter');
  }
});

test('metrics are those of one instance', async () => {
  const [one, other] = [new Metrics({ processMetrics: false }), new Metrics({ processMetrics: true })];
  one.copiedBytes.inc(1_000);
  one.rereads.inc({ reason: 'duplicateKey' });
  one.state.set({ state: 'RUNNING' }, 1);
  const text = await one.registry.metrics();
  expect(text).toContain('convoy_copied_bytes_total 1000');
  expect(text).toContain('convoy_rereads_total{reason="duplicateKey"} 1');
  expect(text).not.toContain('process_resident_memory_bytes');
  const others = await other.registry.metrics();
  expect(others).toContain('convoy_copied_bytes_total 0');
  expect(others).toContain('process_resident_memory_bytes');
});

test('what is unknown before the start is no number, for which no alert fires', async () => {
  const text = await new Metrics({ processMetrics: false }).registry.metrics();
  for (const name of ['overall_lag', 'lag', 'read_lag', 'ddl_lag', 'oplog_remaining'])
    expect(text).toContain(`convoy_${name}_seconds Nan`);
  expect(text).toContain('convoy_copy_size_bytes Nan');
});

test('the publisher alone sets metrics; elsewhere events are only counted', () => {
  const setters = trackedFiles().filter(
    (path) => path.startsWith('packages/instance/src/') && /\bmetrics\.\w+\.(set|reset)\(/.test(readText(path)),
  );
  expect(setters).toEqual(['packages/instance/src/metrics/publish-metrics.ts']);
});
