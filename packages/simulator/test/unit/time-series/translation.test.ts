import { Int32 } from 'bson';
import { describe, expect, it } from 'vitest';
import type { Doc, Value } from '../../../src/bson/value.js';
import { ServerVersion } from '../../../src/node/server-version.js';
import {
  bucketIndexKey,
  bucketIndexSpec,
  bucketShardKey,
  metaFilter,
  metaOperators,
  requiredMetaFilter,
  seriesIndexSpec,
  targetingFilter,
} from '../../../src/time-series/translation.js';

const series = { timeField: 't', metaField: 'm', maxSpan_seconds: 3600, rounding_seconds: 60 };
const one = new Int32(1);
const newest = ServerVersion.parse('8.0');

function fields(...given: [string, Value][]): Doc {
  return new Map(given);
}

describe('what is said of measurements', () => {
  it('is said of buckets by indexes, which are shown as given', () => {
    const key = fields(['m.a', one], ['t', one]);
    const spec = bucketIndexSpec(series, fields(['key', key], ['name', 'x']), newest);
    expect(spec.get('key')).toEqual(fields(['meta.a', one], ['control.min.t', one], ['control.max.t', one]));
    expect(seriesIndexSpec(series, spec)?.get('key')).toEqual(key);
    expect(seriesIndexSpec(series, fields(['key', fields(['control.count', one])]))).toBeUndefined();
    expect(bucketIndexKey(series, fields(['v', one]), ServerVersion.parse('5.0'))).toBeUndefined();
  });

  it('is said by filters on metadata, or else of no bucket as a whole', () => {
    const both = fields(['$or', [fields(['m', one]), fields(['m.a', 'x'])]]);
    expect(metaFilter(series, both)).toEqual(fields(['$or', [fields(['meta', one]), fields(['meta.a', 'x'])]]));
    const mixed = fields(['m', one], ['v', one]);
    expect(metaFilter(series, mixed)).toBeUndefined();
    expect(targetingFilter(series, mixed)).toEqual(fields(['meta', one]));
    expect(() => requiredMetaFilter(series, mixed)).toThrow("a field that is not the metaField 'm'");
    expect(() => requiredMetaFilter(series, fields(['$expr', true]))).toThrow('Cannot use $expr');
  });

  it('is said by updates of metadata', () => {
    const operators = fields(['$set', fields(['m.a', one])], ['$rename', fields(['m.b', 'm.c'])]);
    expect(metaOperators(series, operators)).toEqual(
      fields(['$set', fields(['meta.a', one])], ['$rename', fields(['meta.b', 'meta.c'])]),
    );
    expect(() => metaOperators(series, fields(['$set', fields(['v', one])]))).toThrow('updates a field that is not');
  });

  it('is said by shard keys of metadata, and of the time at the end', () => {
    expect(bucketShardKey(series, fields(['m', 'hashed'], ['t', one]))).toEqual(
      fields(['meta', 'hashed'], ['control.min.t', one]),
    );
    // That a number is 1 is a rule for all shard keys.
    expect(bucketShardKey(series, fields(['t', new Int32(-1)]))).toEqual(fields(['control.min.t', new Int32(-1)]));
  });

  it.each([
    [5914000, fields(['t', one], ['m', one])],
    [5914000, fields(['t', 'hashed'], ['v', one])],
    [5914001, fields(['m', one], ['v', one])],
    [5914001, fields(['mm', one])],
    [880031, fields(['m', one], ['t', 'hashed'])],
  ])('is not said by other shard keys (%i)', (code, key) => {
    expect(() => bucketShardKey(series, key)).toThrow(expect.objectContaining({ code }));
  });
});
