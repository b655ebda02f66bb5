import { CommandError } from '../../node/command.js';
import { failure } from '../failure.js';
import type { ShardState } from '../shard-state.js';

/** Refuses the name of a view or of a time-series collection. @throws CommandError 166 */
export function refuseView({ catalog }: Pick<ShardState, 'catalog'>, namespace: string): void {
  const view = catalog.view(namespace);
  if (view?.type === 'timeseries')
    throw new CommandError(166, 'CommandNotSupportedOnView', `Namespace ${namespace} is a timeseries collection`);
  if (view !== undefined) throw failure.isView(namespace);
}
