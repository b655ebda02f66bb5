import fc from 'fast-check';
import type { Document } from 'mongodb';
import { makeSeries, type Series } from './series.js';
import type { User } from './user.js';

/** Measurements begin here: servers delete none of them for their age. */
const begin_ms = Date.UTC(2026, 0, 1);
/** Age at which measurements expire, in seconds: none of them is so old. */
const longAge_seconds = 1_000_000_000;
const sensors = 8;

/** Numbers that stand for a measurement. */
export interface Measured {
  /** Seconds after the beginning. */
  readonly second: number;
  readonly sensor: number;
  readonly value: number;
}

/** What users do with a time series. `n` is a number that decides the details. */
export type SeriesAction = { readonly series: string } & (
  | { readonly kind: 'measure'; readonly rows: readonly Measured[] }
  | { readonly kind: (typeof changeKinds)[number] | (typeof definitionKinds)[number]; readonly n: number }
);

const changeKinds = ['deleteSensor', 'deleteValue', 'renameSensor'] as const;
const definitionKinds = ['drop', 'widen', 'expire', 'index', 'indexGoes', 'out'] as const;

const measured: fc.Arbitrary<Measured> = fc.record({
  second: fc.oneof(fc.integer({ min: 0, max: 120 }), fc.integer({ min: 0, max: 200_000 })),
  sensor: fc.nat(sensors - 1),
  value: fc.nat(20),
});

/**
 * Random actions on time series, out of the order of time.
 * @param names of the series
 * @param withDefinitions whether definitions change, too
 */
export function seriesActions(names: readonly string[], withDefinitions: boolean): fc.Arbitrary<SeriesAction> {
  const series = fc.constantFrom(...names);
  const changes = <Kind extends string>(
    kinds: readonly Kind[],
  ): fc.Arbitrary<{ kind: Kind; series: string; n: number }> =>
    fc.record({ kind: fc.constantFrom(...kinds), series, n: fc.nat(20) });
  return fc.oneof(
    {
      weight: 12,
      arbitrary: fc.record({
        kind: fc.constant('measure' as const),
        series,
        rows: fc.array(measured, { minLength: 1 }),
      }),
    },
    { weight: 4, arbitrary: changes(changeKinds) },
    { weight: withDefinitions ? 2 : 0, arbitrary: changes(definitionKinds) },
  );
}

/** The measurement that numbers stand for. */
export function measurementOf({ second, sensor, value }: Measured): Document {
  return {
    at: new Date(begin_ms + second * 1_000),
    // Some have no metadata, some an object, and some another type of value.
    ...(sensor === 0 ? {} : { sensor: sensor === 1 ? { place: 'roof', n: value % 3 } : sensor }),
    ...(value === 7 ? { text: `v${value}` } : { value }),
  };
}

const indexes: readonly Document[] = [
  { key: { value: 1 }, name: 'byValue' },
  { key: { sensor: 1, value: -1 }, name: 'bySensor', hidden: true },
  {
    key: { at: 1 },
    name: 'expiring',
    expireAfterSeconds: longAge_seconds,
    partialFilterExpression: { sensor: { $gte: 5 } },
  },
];

/**
 * Does one thing to a time series of a database.
 * @param all the series, by which one is made anew
 * @throws RefusedByServer
 */
export async function runSeriesAction(
  action: SeriesAction,
  all: readonly Series[],
  database: string,
  user: User,
): Promise<void> {
  const { series } = action;
  const run = (command: Document): Promise<Document> => user.command(database, command);
  if (action.kind === 'measure') {
    await run({ insert: series, documents: action.rows.map(measurementOf), ordered: action.rows.length % 2 === 0 });
    return;
  }
  const { kind, n } = action;
  switch (kind) {
    case 'deleteSensor':
      await run({ delete: series, deletes: [{ q: { sensor: n % sensors }, limit: 0 }] });
      return;
    case 'deleteValue':
      await run({ delete: series, deletes: [{ q: { value: n }, limit: n % 2 }] });
      return;
    case 'renameSensor': {
      const u = { $set: { sensor: (n * 3) % sensors } };
      await run({ update: series, updates: [{ q: { sensor: n % sensors }, u, multi: true }] });
      return;
    }
    case 'drop': {
      await run({ drop: series });
      const made = all.find(({ name }) => name === series);
      if (made !== undefined) await makeSeries(made, database, user);
      return;
    }
    case 'widen':
      await run({ collMod: series, timeseries: { granularity: n % 2 === 0 ? 'minutes' : 'hours' } });
      return;
    case 'expire':
      await run({ collMod: series, expireAfterSeconds: n % 3 === 0 ? 'off' : longAge_seconds + n });
      return;
    case 'index':
      await run({ createIndexes: series, indexes: [indexes[n % indexes.length]] });
      return;
    case 'indexGoes':
      await run({ dropIndexes: series, index: indexes[n % indexes.length]?.['name'] as string });
      return;
    case 'out': {
      const timeseries = { timeField: 'at', metaField: 'sensor' };
      const $out = { db: database, coll: all[n % all.length]?.name, timeseries };
      await run({ aggregate: series, pipeline: [{ $match: { value: { $lt: n } } }, { $out }], cursor: {} });
    }
  }
}
