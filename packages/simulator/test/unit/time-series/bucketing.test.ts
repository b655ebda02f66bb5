import { Int32 } from 'bson';
import { describe, expect, it } from 'vitest';
import { DateTime, type Doc, type Value } from '../../../src/bson/value.js';
import { ServerVersion } from '../../../src/node/server-version.js';
import {
  bucketsNamespaceOf,
  roundedDown,
  seriesNamespaceOf,
  timeSeriesOf,
  widenedBucketing,
} from '../../../src/time-series/bucketing.js';

function fields(...given: [string, Value][]): Doc {
  return new Map(given);
}

describe('the bucketing of a time-series collection', () => {
  it('has the names of the buckets', () => {
    expect(bucketsNamespaceOf('a.b.c')).toBe('a.system.buckets.b.c');
    expect(seriesNamespaceOf('a.system.buckets.b.c')).toBe('a.b.c');
    expect(seriesNamespaceOf('a.b')).toBeUndefined();
  });

  it.each([
    ['seconds', 3600, 60],
    ['minutes', 86_400, 3600],
    ['hours', 2_592_000, 86_400],
  ])('by %s spans %d s and rounds to %d s', (granularity, maxSpan_seconds, rounding_seconds) => {
    const options = fields(['timeseries', fields(['timeField', 't'], ['granularity', granularity])]);
    expect(timeSeriesOf(options)).toEqual({ timeField: 't', metaField: undefined, maxSpan_seconds, rounding_seconds });
  });

  it('rounds times down, those before 1970 too', () => {
    const series = { timeField: 't', metaField: undefined, maxSpan_seconds: 3600, rounding_seconds: 60 };
    const rounded = (ms: bigint): bigint => roundedDown(series, new DateTime(ms));
    expect([0n, 59_999n, 60_000n, -1n, -60_000n].map(rounded)).toEqual([0n, 0n, 60_000n, -60_000n, -60_000n]);
  });

  it('only widens', () => {
    const version = ServerVersion.parse('8.0');
    const before = fields(['timeField', 't'], ['granularity', 'seconds'], ['bucketMaxSpanSeconds', new Int32(3600)]);
    const to = (granularity: string): Doc => widenedBucketing(before, fields(['granularity', granularity]), version);
    expect(to('minutes').get('bucketMaxSpanSeconds')).toEqual(new Int32(86_400));
    expect(to('hours').get('bucketMaxSpanSeconds')).toEqual(new Int32(2_592_000));
    const back = (): Doc => widenedBucketing(to('hours'), fields(['granularity', 'minutes']), version);
    expect(back).toThrow('Invalid transition for timeseries.granularity');
    const span = (seconds: number): Doc =>
      fields(['bucketMaxSpanSeconds', new Int32(seconds)], ['bucketRoundingSeconds', new Int32(seconds)]);
    expect(widenedBucketing(before, span(7200), version)).toEqual(new Map([['timeField', 't'], ...span(7200)]));
    const narrow = (): Doc => widenedBucketing(before, span(60), version);
    expect(narrow).toThrow("'bucketMaxSpanSeconds' needs to be equal or greater to transition");
  });
});
