import { Int32 } from 'bson';
import { DateTime, type Doc, type Value } from '../../../../src/bson/value.js';
import type { ReleaseSeries } from '../../../../src/node/server-version.js';
import { VersionedShard } from '../versioned-shard.js';

/** A shard with the time-series collection `db.series`, which the corpora have too. */
export class SeriesFixture extends VersionedShard {
  static async of(release: ReleaseSeries, timeseries: Record<string, unknown> = {}): Promise<SeriesFixture> {
    const fixture = new SeriesFixture(release);
    const bucketing = { timeField: 't', metaField: 'm', granularity: 'minutes', ...timeseries };
    await fixture.run('db', { create: 'series', timeseries: bucketing });
    return fixture;
  }

  /** Inserts measurements with one command. */
  async insert(...documents: Record<string, unknown>[]): Promise<Record<string, unknown>> {
    return this.json('db', { insert: 'series', documents });
  }

  /** The buckets in the order of their ids, without those. */
  async buckets(): Promise<Record<string, unknown>[]> {
    const found = await this.found('db', { find: 'system.buckets.series', projection: { _id: 0 } });
    return found as Record<string, unknown>[];
  }

  /** Measurements without `_id`. */
  async measurements(command: Record<string, unknown> = {}): Promise<unknown[]> {
    return this.found('db', { find: 'series', projection: { _id: 0 }, ...command });
  }
}

/** A date, in milliseconds. */
export function at(ms: number): DateTime {
  return new DateTime(BigInt(ms));
}

/** The time of the corpora's first measurement. */
export const first = 1_700_000_000_000;

export function dateJson(ms: number): unknown {
  return { $date: { $numberLong: String(ms) } };
}

export function columnJson(base64: string): unknown {
  return { $binary: { base64, subType: '07' } };
}

/** The document of a bucket without the names of its kind, for writes by its own name. */
export function openBucket(id: Value, fields: { meta?: Value; times: number[]; values: Value[] }): Doc {
  const column = (values: readonly Value[]): Doc => new Map(values.map((value, row) => [String(row), value]));
  const edge = (at: number): Doc =>
    new Map<string, Value>([
      [
        't',
        new DateTime(
          BigInt(at === 0 ? Math.floor((fields.times[0] ?? 0) / 3_600_000) * 3_600_000 : (fields.times.at(-1) ?? 0)),
        ),
      ],
      ['v', fields.values.at(at) ?? null],
    ]);
  return new Map<string, Value>([
    ['_id', id],
    [
      'control',
      new Map<string, Value>([
        ['version', new Int32(1)],
        ['min', edge(0)],
        ['max', edge(-1)],
      ]),
    ],
    ['meta', fields.meta ?? null],
    [
      'data',
      new Map<string, Value>([
        ['t', column(fields.times.map(at))],
        ['v', column(fields.values)],
      ]),
    ],
  ]);
}
