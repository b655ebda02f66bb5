import { expect, test } from 'vitest';
import type { VerifyResult } from '../../../src/verify/verify-order.js';
import { mismatchRows, verifySizeRows } from '../../../src/verify/verify-rows.js';

const result = (seconds: number, peakMemoryBytes = 100e6, mismatches = 0): VerifyResult => ({
  seconds,
  cpu_seconds: seconds / 2,
  peakMemoryBytes,
  mismatches,
  catalogs_seconds: 0,
  catalogsCpu_seconds: 0,
});

test('compares a size with the bare loop by the medians of the rounds', () => {
  const rows = verifySizeRows({
    name: '1 kB',
    documents: 1_000,
    bytes: 1e9,
    loop: [result(1), result(9), result(2)],
    verifier: [result(2.5), result(1), result(7)],
  });
  const value = (subject: string, metric: string) =>
    rows.find((row) => row.case === `1 kB ${subject}` && row.metric === metric)?.value;
  expect(value('bare loop', 'documents compared')).toBe(500);
  expect(value('verifier', 'throughput')).toBe(800);
  expect(value('verifier', 'CPU')).toBe(0.625);
  expect(rows.at(-1)).toMatchObject({ metric: 'throughput of bare loop', value: 0.8, goal: '>= 0.9', met: false });
});

test('memory must be flat over the numbers of mismatches', () => {
  const rows = mismatchRows([result(1, 200e6, 50), result(2, 190e6, 100), result(4, 205e6, 200)]);
  expect(rows).toContainEqual({ case: '100 mismatches', metric: 'peak memory', value: 190, unit: 'MB' });
  expect(rows.at(-1)).toMatchObject({ goal: '<= 1.1', met: true });
});
