import { CommandError } from '../../node/command.js';
import { isTrue } from '../../node/doc-fields.js';
import type { BucketRules } from '../../time-series/bucket.js';
import { seriesNamespaceOf, timeSeriesOf } from '../../time-series/bucketing.js';
import type { CommandContext, CommandHandler } from '../commands/command-context.js';
import type { Doc } from '../../bson/value.js';
import { failure } from '../failure.js';
import type { Collection } from '../storage/collection.js';

/** A time-series collection that a command is about. */
export interface SeriesTarget {
  /** Its own namespace, not that of its buckets. */
  readonly namespace: string;
  readonly buckets: Collection;
  readonly rules: BucketRules;
}

/**
 * The time-series collection that a command names: by the view in front of its buckets, or as routers pass commands on,
 * by the buckets and `isTimeseriesNamespace`. Undefined for commands on anything else.
 * @throws CommandError 26 for one without buckets
 */
export function seriesTarget({ state, request }: Pick<CommandContext, 'state' | 'request'>): SeriesTarget | undefined {
  const name = request.body.get(request.name);
  if (typeof name !== 'string') return undefined;
  const given = `${request.db}.${name}`;
  const view = state.catalog.view(given);
  if (view?.type === 'timeseries') return targetOf(given, state.catalog.collection(`${request.db}.${view.viewOn}`));
  const series = isTrue(request.body.get('isTimeseriesNamespace')) ? seriesNamespaceOf(given) : undefined;
  return series === undefined ? undefined : targetOf(series, state.catalog.collection(given));
}

function targetOf(namespace: string, buckets: Collection | undefined): SeriesTarget {
  const series = buckets === undefined ? undefined : timeSeriesOf(buckets.options);
  if (buckets === undefined || series === undefined)
    throw failure.namespaceNotFound(`Could not find time-series buckets collection of ${namespace}`);
  return { namespace, buckets, rules: { series, collation: buckets.collation } };
}

/** @throws CommandError 263 in a transaction */
export function refuseSeriesInTransaction(
  { participation }: Pick<CommandContext, 'participation'>,
  act: 'insert into' | 'update' | 'delete from',
  { namespace }: SeriesTarget,
): void {
  if (participation.transaction === null) return;
  const shown = `Cannot ${act} a time-series collection in a multi-document transaction: ${namespace}`;
  throw new CommandError(263, 'OperationNotSupportedInTransaction', shown);
}

/** A command that time-series collections answer in their own way. */
export function ofSeries(
  series: (context: CommandContext, target: SeriesTarget) => Doc | Promise<Doc>,
  others: CommandHandler,
): CommandHandler {
  return (context) => {
    const target = seriesTarget(context);
    return target === undefined ? others(context) : series(context, target);
  };
}
