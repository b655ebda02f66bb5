import { expect, test } from 'vitest';
import type { CatalogEntry } from '../../../src/catalog/namespace.js';
import {
  describeLeftOut,
  refuseSeriesBetween,
  refuseTimeSeries,
} from '../../../src/catalog/unsupported-collections.js';

function view(name: string, options: CatalogEntry['options'], database = 'app'): CatalogEntry {
  const size = { sizeBytes: 0, documentCount: 0 };
  return { database, name, type: 'view', uuid: '', options, indexes: [], sharding: null, primaryShard: 'a', ...size };
}

const joining = [new Map([['$lookup', new Map([['from', 'series']])]])];

test('time series that appeared are named with the views that read them, and no others', () => {
  const catalog = [
    view('on', { viewOn: 'series', pipeline: [] }),
    view('with', { viewOn: 'c', pipeline: joining }),
    view('other', { viewOn: 'c', pipeline: [] }),
    view('elsewhere', { viewOn: 'series', pipeline: [] }, 'other'),
  ];
  const description = describeLeftOut({ timeSeries: ['app.series'], catalog });
  expect(description).toMatch(/not migrated: app\.series\. .* read of them: app\.on, app\.with\. .*mongodump/);
});

const clusters = (...majors: number[]) =>
  majors.map((major, number) => ({ name: `cluster${number}`, version: [major, 0, 0] as [number, number, number] }));
const series = { ...view('system.buckets.t', { timeseries: { timeField: 'at' } }), type: 'collection' as const };

test.each([
  ['releases of one major number', clusters(8, 8), true, null],
  ['a newer destination without a way back', clusters(6, 8), false, null],
  ['a newer destination with a way back', clusters(6, 8), true, /app\.t .*reversible false/],
  ['a release that keeps time series in another form', clusters(8, 9), false, /cluster1 keeps .*app\.t\. Exclude/],
])('time series between %s', (_, between, reversible, refusal) => {
  const refuse = () => refuseSeriesBetween([series], between, reversible);
  if (refusal === null) expect(refuse).not.toThrow();
  else expect(refuse).toThrow(refusal);
  expect(() => refuseSeriesBetween([], between, reversible)).not.toThrow();
});

test.each([
  [5, /^cluster0 is of release 5\.0, .*: app\.t\..* mongorestore, or upgrade cluster0 to 6\.0 first\.$/],
  [9, /^cluster0 is of release 9\.0, .*: app\.t\..* mongorestore\.$/],
])('time series of a release that cannot be followed, %d.0, are refused with its remedies', (major, says) => {
  const [source] = clusters(major);
  if (source === undefined) throw new Error('there is no cluster');
  expect(() => refuseTimeSeries({ timeSeries: ['app.t'] }, source)).toThrow(
    expect.objectContaining({
      error: 'timeSeriesNotSupported',
      errorDescription: expect.stringMatching(says) as unknown,
    }),
  );
  expect(() => refuseTimeSeries({ timeSeries: [] }, source)).not.toThrow();
});

test('a TTL index of a time series needs a release that has such indexes', () => {
  const index = { key: new Map([['control.max.at', 1]]), name: 'old', expireAfterSeconds: 60 };
  const refuse = (name: string, destination: number) => () =>
    refuseSeriesBetween([{ ...series, name, indexes: [index] }], clusters(7, destination), false);
  expect(refuse('system.buckets.t', 6)).toThrow(/cluster1 cannot have the TTL indexes of app\.t, which/);
  expect(refuse('t', 6)).not.toThrow();
  expect(refuse('system.buckets.t', 7)).not.toThrow();
});

test('without time series there is nothing to say', () => {
  expect(describeLeftOut({ timeSeries: [], catalog: [view('on', { viewOn: 'series', pipeline: [] })] })).toBe(null);
});
