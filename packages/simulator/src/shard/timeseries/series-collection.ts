import type { ShardState } from '../shard-state.js';
import type { View } from '../storage/catalog.js';
import type { Collection } from '../storage/collection.js';
import { seriesOptions, type SeriesOptions } from './series-options.js';

/** A time-series collection: the view that clients name, and the collection of its buckets. */
export interface SeriesCollection {
  readonly view: View;
  readonly buckets: Collection;
  readonly options: SeriesOptions;
}

/** The time-series collection of a name; undefined when there is none. */
export function seriesCollection({ catalog }: ShardState, namespace: string): SeriesCollection | undefined {
  const view = catalog.view(namespace);
  if (view?.type !== 'timeseries') return undefined;
  const buckets = catalog.collection(`${namespace.slice(0, namespace.indexOf('.'))}.${view.viewOn}`);
  return buckets === undefined ? undefined : { view, buckets, options: seriesOptions(view.options) };
}
