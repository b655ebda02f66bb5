import { expect, test } from 'vitest';
import { formatBar, formatBytes, formatCount, formatSeconds } from '@convoy/cli/progress-view/quantity';

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1_000, '1.0 KB'],
  [12_345_678, '12.3 MB'],
  [654_000_000, '654 MB'],
  [2e15, '2000 TB'],
])('%d bytes are %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));

test.each([
  [0.4, '0s'],
  [59, '59s'],
  [200, '3m 20s'],
  [7_260, '2h 1m'],
])('%d seconds are %s', (seconds, text) => expect(formatSeconds(seconds)).toBe(text));

test('counts have separators', () =>
  expect([0, 999, 1_000, 1_234_567].map(formatCount)).toEqual(['0', '999', '1,000', '1,234,567']));

test.each([
  [0, '[----------]'],
  [50, '[#####-----]'],
  [100, '[##########]'],
  [170, '[##########]'],
])('%d percent fill their part of the bar', (percent, bar) => expect(formatBar(percent, 10)).toBe(bar));
