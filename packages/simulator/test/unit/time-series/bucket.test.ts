import { Binary, Int32, ObjectId } from 'bson';
import { describe, expect, it } from 'vitest';
import { DateTime, type Doc, type Value } from '../../../src/bson/value.js';
import { ServerVersion } from '../../../src/node/server-version.js';
import {
  type Bucket,
  bucketDocument,
  compressed,
  emptyBucket,
  extended,
  hasMixedSchema,
  measurementsOf,
  metadataOf,
  readBucket,
  reduced,
} from '../../../src/time-series/bucket.js';

const series = { timeField: 't', metaField: 'm', maxSpan_seconds: 3600, rounding_seconds: 60 };
const rules = { series, collation: undefined };
const newest = ServerVersion.parse('8.0');
const oldest = ServerVersion.parse('5.0');

function measurement(ms: number, more: readonly [string, Value][] = []): Doc {
  return new Map<string, Value>([['t', new DateTime(BigInt(ms))], ['m', 'a'], ...more]);
}

function bucketOf(release: ServerVersion, ...measurements: Doc[]): Bucket {
  const empty = emptyBucket(rules, new DateTime(60_000n), 'a', release);
  return extended(empty, measurements, rules);
}

describe('a bucket', () => {
  it('gives back what it holds, whatever its version', () => {
    const measurements = [
      measurement(60_000, [['v', new Int32(1)]]),
      measurement(61_000, [['w', 'x']]),
      measurement(60_500, [['v', null]]),
    ];
    for (const release of [oldest, newest]) {
      const read = readBucket(bucketDocument(bucketOf(release, ...measurements)), series);
      expect(measurementsOf(read, series)).toEqual(measurements);
      expect(read.version).toBe(release === oldest ? 1 : 3);
    }
  });

  it('has the least and greatest values of documents and arrays part by part', () => {
    const of = (x: number, list: number[]): Doc =>
      measurement(60_000, [
        [
          'v',
          new Map<string, Value>([
            ['x', new Int32(x)],
            ['l', list.map((each) => new Int32(each))],
          ]),
        ],
      ]);
    const { min, max } = bucketOf(newest, of(2, [1, 5]), of(1, [3, 4, 9]));
    const shown = (edge: Doc): unknown => {
      const v = edge.get('v') as Doc;
      return [(v.get('x') as Int32).value, (v.get('l') as Int32[]).map(({ value }) => value)];
    };
    expect([min, max].map(shown)).toEqual([
      [1, [1, 4, 9]],
      [2, [3, 5, 9]],
    ]);
  });

  it('is compressed in the order of time, and reduced under its identity', () => {
    const bucket = bucketOf(oldest, measurement(62_000), measurement(61_000));
    const whole = compressed(bucket, rules, ServerVersion.parse('6.0'));
    expect(whole.version).toBe(2);
    expect(measurementsOf(whole, series).map((each) => (each.get('t') as DateTime).ms)).toEqual([61_000n, 62_000n]);
    const data = bucketDocument(whole).get('data') as Doc;
    expect((data.get('t') as Binary).sub_type).toBe(7);
    const less = reduced(whole, [measurement(62_000)], rules, newest);
    expect(less).toMatchObject({ id: bucket.id, count: 1, version: 2 });
    expect(less.min.get('t')).toEqual(new DateTime(60_000n));
  });

  it('has metadata with their fields by name', () => {
    const meta = new Map<string, Value>([
      ['b', new Int32(1)],
      [
        'a',
        [
          new Map<string, Value>([
            ['d', true],
            ['c', false],
          ]),
        ],
      ],
    ]);
    const stored = metadataOf(new Map<string, Value>([['m', meta]]), series) as Doc;
    expect([...stored.keys()]).toEqual(['a', 'b']);
    expect([...((stored.get('a') as Doc[])[0]?.keys() ?? [])]).toEqual(['c', 'd']);
  });

  it('is mixed where a field has values of different types, in any part', () => {
    const with_ = (min: Value, max: Value): Doc =>
      new Map<string, Value>([
        ['_id', new ObjectId()],
        [
          'control',
          new Map<string, Value>([
            ['min', new Map([['v', min]])],
            ['max', new Map([['v', max]])],
          ]),
        ],
      ]);
    expect(hasMixedSchema(with_(new Int32(1), new Int32(2)))).toBe(false);
    expect(hasMixedSchema(with_(new Int32(1), 'x'))).toBe(true);
    expect(hasMixedSchema(with_(new Map([['x', new Int32(1)]]), new Map([['x', 'y']])))).toBe(true);
    expect(hasMixedSchema(with_([new Int32(1)], [new Int32(1), 'y']))).toBe(false);
  });
});
