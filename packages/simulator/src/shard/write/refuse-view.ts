import { unsimulated } from '../../node/unsimulated.js';
import { failure } from '../failure.js';
import type { ShardState } from '../shard-state.js';

/**
 * Refuses the name of a view (CommandError 166) or of a time-series collection, whose content is not simulated (115).
 */
export function refuseView({ catalog }: Pick<ShardState, 'catalog'>, namespace: string): void {
  const view = catalog.view(namespace);
  if (view?.type === 'timeseries') throw unsimulated(`The content of the time-series collection ${namespace}`);
  if (view !== undefined) throw failure.isView(namespace);
}
