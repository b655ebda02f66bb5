import type { Doc } from '../../bson/value.js';
import { docOrEmpty, numberOf, textOrEmpty } from '../../node/doc-fields.js';

/** How a time-series collection makes buckets of measurements. */
export interface SeriesOptions {
  readonly timeField: string;
  /** Undefined when measurements have no metadata. */
  readonly metaField: string | undefined;
  /** Times of one bucket lie within so many milliseconds. */
  readonly spanMs: bigint;
  /** The least time of a bucket is rounded down to a multiple of so many milliseconds. */
  readonly roundingMs: bigint;
}

/** What a bucket's least time is rounded to, in seconds, by granularity (manual, "Set Granularity for Time Series Data"). */
const ROUNDING_SECONDS: ReadonlyMap<string, number> = new Map([
  ['seconds', 60],
  ['minutes', 3600],
  ['hours', 86_400],
]);

/** @param options of the collection as `listCollections` shows them, with `timeseries` */
export function seriesOptions(options: Doc): SeriesOptions {
  const series = docOrEmpty(options.get('timeseries'));
  const rounding =
    numberOf(series.get('bucketRoundingSeconds')) ?? ROUNDING_SECONDS.get(textOrEmpty(series.get('granularity'))) ?? 60;
  const metaField = series.get('metaField');
  return {
    timeField: textOrEmpty(series.get('timeField')),
    metaField: typeof metaField === 'string' ? metaField : undefined,
    spanMs: BigInt(numberOf(series.get('bucketMaxSpanSeconds')) ?? 3600) * 1000n,
    roundingMs: BigInt(rounding) * 1000n,
  };
}
