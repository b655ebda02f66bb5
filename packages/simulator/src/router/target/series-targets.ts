import { MinKey } from 'bson';
import { decodeDocument } from '../../bson/decode.js';
import { encodeDocument } from '../../bson/encode.js';
import { DateTime, type Doc } from '../../bson/value.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, isTrue } from '../../node/doc-fields.js';
import { metadataOf, timeOf } from '../../time-series/bucket.js';
import { roundedDown, type TimeSeries, timeSeriesOf } from '../../time-series/bucketing.js';
import { firstTimePath } from '../../time-series/translation.js';
import { databaseOf } from '../../node/namespace.js';
import type { RouterContext } from '../router-context.js';

/** A time-series collection by its view on the primary shard of its database. */
export interface RoutedSeries {
  readonly namespace: string;
  /** The namespace of its buckets. */
  readonly buckets: string;
  readonly options: Doc;
}

/** The time-series collection of a name. Undefined for other names. */
export function routedSeries(context: RouterContext, namespace: string): RoutedSeries | undefined {
  const view = context.primaryOf(namespace)?.stored.view(namespace);
  if (view?.options.has('timeseries') !== true) return undefined;
  return { namespace, buckets: `${databaseOf(namespace)}.${view.viewOn}`, options: view.options };
}

/** Whether the name of the buckets stands for the time-series collection. */
export function isOfSeries({ body }: CommandRequest): boolean {
  return isTrue(body.get('isTimeseriesNamespace'));
}

/** The bucketing of a sharded collection of buckets. */
export function seriesOf({ timeseries }: ShardedCollection): TimeSeries | undefined {
  return timeseries === undefined ? undefined : timeSeriesOf(doc(['timeseries', timeseries]));
}

/**
 * What the shard key of a bucket is made of that a measurement may join: its metadata and its rounded time.
 * @throws CommandError 5743702 for one without a time
 */
export function keyDocument(series: TimeSeries, measurement: Uint8Array): Uint8Array {
  const fields = decodeDocument(measurement);
  const time = timeOf(fields, series);
  if (time === undefined)
    throw new CommandError(
      5743702,
      'Location5743702',
      `'${series.timeField}' must be present and contain a valid BSON UTC datetime value`,
    );
  const first = doc([series.timeField, new DateTime(roundedDown(series, time))]);
  const meta = metadataOf(fields, series);
  const bucket: Doc = meta === undefined ? doc() : doc(['meta', meta]);
  return encodeDocument(bucket.set('control', doc(['min', first])));
}

/**
 * Zones are bound to metadata: the time in their bounds is the least one.
 * @param isWhole whether bounds have all fields of the shard key; one without the time can then have no zones (8.0.10
 * source, `checkForTimeseriesTimeFieldKeyRange`)
 * @throws CommandError 72 for others
 */
export function refuseTimeOfZone(
  { timeseries }: Pick<ShardedCollection, 'timeseries'>,
  bounds: readonly Doc[],
  isWhole = false,
): void {
  const series = timeseries === undefined ? undefined : timeSeriesOf(doc(['timeseries', timeseries]));
  if (series === undefined) return;
  const path = firstTimePath(series);
  if (bounds.every((bound) => (!isWhole && !bound.has(path)) || bound.get(path) instanceof MinKey)) return;
  const rule = 'time field cannot be specified in the zone range for time-series collections';
  throw new CommandError(72, 'InvalidOptions', rule);
}
