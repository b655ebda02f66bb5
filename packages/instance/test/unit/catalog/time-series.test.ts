import { describe, expect, it } from 'vitest';
import {
  bucketsShardKey,
  portableSeries,
  seriesChange,
  seriesKeyObstacle,
  seriesOptions,
  timeOfShardKey,
  userShardKey,
} from '../../../src/catalog/time-series.js';

const timeseries = { timeField: 'at', metaField: 'sensor' };

describe('the shard key of a time series', () => {
  it.each([
    [{ sensor: 1 }, { meta: 1 }],
    [{ sensor: 'hashed' }, { meta: 'hashed' }],
    [{ at: 1 }, { 'control.min.at': 1 }],
    [
      { 'sensor.site': 1, at: 1 },
      { 'meta.site': 1, 'control.min.at': 1 },
    ],
  ])('%j is %j of its buckets, and back', (user, buckets) => {
    const [ofUser, ofBuckets] = [user, buckets].map((key) => new Map<string, unknown>(Object.entries(key)));
    expect(bucketsShardKey(ofUser ?? new Map(), timeseries)).toEqual(ofBuckets);
    expect(userShardKey(ofBuckets ?? new Map(), timeseries)).toEqual(ofUser);
  });

  it.each([
    [{ sensor: 1 }, null],
    [{ 'sensor.site': 'hashed' }, null],
    [{ sensor: 'hashed', at: 1 }, null],
    [{ at: 1 }, null],
    [{ value: 1 }, /its time alone, and not value/],
    [{ sensors: 1 }, /its time alone, and not sensors/],
    [{ meta: 1 }, /its time alone, and not meta/],
    [{ sensor: 1, 'at.x': 1 }, /its time alone, and not at\.x/],
    [{ at: 1, sensor: 1 }, /its time at at the end alone/],
    [{ at: 'hashed', value: 1 }, /its time at at the end alone/],
    [{ sensor: 1, at: 'hashed' }, /its time at ascending alone/],
  ] as const)('%j: servers refuse it as %s', (key, obstacle) => {
    const found = seriesKeyObstacle(new Map<string, unknown>(Object.entries(key)), timeseries);
    if (obstacle === null) expect(found).toBeNull();
    else expect(found).toMatch(obstacle);
  });

  it('is the time alone where there is no meta field', () => {
    const bare = { timeField: 'at' };
    expect(seriesKeyObstacle(new Map([['at', 1]]), bare)).toBeNull();
    expect(seriesKeyObstacle(new Map([['undefined', 1]]), bare)).toMatch(/not undefined/);
    expect(bucketsShardKey(new Map([['undefined', 1]]), bare)).toEqual(new Map([['undefined', 1]]));
  });

  it('has a time where it ends with one', () => {
    expect(timeOfShardKey(new Map([['meta', 1]]))).toBe(undefined);
    expect(timeOfShardKey(new Map([...['meta', 'control.min.at']].map((field) => [field, 1])))).toBe('control.min.at');
  });
});

describe('the options of a time series', () => {
  it('are those of its buckets, without what servers make themselves', () => {
    const buckets = { validator: new Map(), clusteredIndex: true, timeseries, expireAfterSeconds: 5 };
    expect(seriesOptions(buckets)).toEqual({ timeseries, expireAfterSeconds: 5 });
  });

  it('have a granularity, or the numbers that the user chose', () => {
    const spans = { bucketMaxSpanSeconds: 3600, bucketRoundingSeconds: 60 };
    expect(portableSeries({ ...timeseries, granularity: 'seconds', ...spans })).toEqual({
      ...timeseries,
      granularity: 'seconds',
    });
    expect(portableSeries({ ...timeseries, ...spans })).toEqual({ ...timeseries, ...spans });
  });

  it('change without the names of its fields', () => {
    expect(seriesChange({ ...timeseries, granularity: 'hours', bucketMaxSpanSeconds: 1 })).toEqual({
      granularity: 'hours',
    });
  });
});
