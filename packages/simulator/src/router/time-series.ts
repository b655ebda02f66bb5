import type { Doc } from '../bson/value.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { doc, docOf, docOrEmpty, isTrue, requiredText } from '../node/doc-fields.js';
import { collectionOf, databaseOf } from '../node/namespace.js';
import { changedView } from '../shard/time-series/series-definitions.js';
import { bucketsNamespaceOf, seriesNamespaceOf, timeSeriesOf } from '../time-series/bucketing.js';
import { bucketShardKey } from '../time-series/translation.js';
import type { Command } from './command-table.js';
import { createCommand } from './ddl/collection-commands.js';
import type { RouterContext } from './router-context.js';
import { type RoutedSeries, routedSeries } from './target/series-targets.js';

/** A command on a collection, which of a time-series collection goes to the shards of its buckets. */
export function onBuckets(command: Command): Command {
  return async (context, request) => {
    const name = request.body.get(request.name);
    const series = typeof name === 'string' ? routedSeries(context, `${request.db}.${name}`) : undefined;
    if (series === undefined) return command(context, request);
    const body: Doc = new Map([...request.body, [request.name, collectionOf(series.buckets)]]);
    const reply = await command(context, { ...request, body: body.set('isTimeseriesNamespace', true) });
    return withOwnName(reply, series);
  };
}

function withOwnName(reply: Doc, { namespace, buckets }: RoutedSeries): Doc {
  const cursor = docOf(reply.get('cursor'));
  if (cursor?.get('ns') === buckets) cursor.set('ns', namespace);
  return reply.get('ns') === buckets ? reply.set('ns', namespace) : reply;
}

/** No time-series collection has `findAndModify`. @throws CommandError 166 */
export function refusingSeries(command: Command): Command {
  return (context, request) => {
    const name = request.body.get(request.name);
    const namespace = `${request.db}.${typeof name === 'string' ? name : ''}`;
    if (routedSeries(context, namespace) === undefined) return command(context, request);
    throw new CommandError(166, 'CommandNotSupportedOnView', `Namespace ${namespace} is a timeseries collection`);
  };
}

/** A command that names a whole namespace, which of a time-series collection is about its buckets and their keys. */
export function onBucketKeys(command: Command): Command {
  return (context, request) => {
    const series = routedSeries(context, requiredText(request.body, request.name));
    return command(context, series === undefined ? request : { ...request, body: ofBuckets(request, series) });
  };
}

function ofBuckets({ name, body }: CommandRequest, { buckets, options }: RoutedSeries): Doc {
  const named: Doc = new Map([...body, [name, buckets]]);
  const series = timeSeriesOf(options);
  const key = docOf(body.get('key'));
  if (series !== undefined && key !== undefined) named.set('key', bucketShardKey(series, key));
  named.delete('timeseries');
  return named;
}

/**
 * `shardCollection`, which of a time-series collection shards its buckets and creates it where `timeseries` says how.
 * @throws CommandError 72, 5731500 and 5731501 as servers refuse
 */
export function shardingSeries(command: Command): Command {
  return async (context, request) => {
    const namespace = requiredText(request.body, 'shardCollection');
    if (seriesNamespaceOf(namespace) !== undefined)
      throw new CommandError(5731501, 'Location5731501', 'Sharding a buckets collection is not allowed');
    const requested = docOf(request.body.get('timeseries'));
    if (requested !== undefined) await createMissing(context, request, namespace, requested);
    const series = routedSeries(context, namespace);
    if (series === undefined) return command(context, request);
    if (isTrue(request.body.get('unique')))
      throw new CommandError(72, 'InvalidOptions', 'A time-series collection has no unique shard key');
    const reply = await command(context, { ...request, body: ofBuckets(request, series) });
    return reply.set('collectionsharded', namespace);
  };
}

async function createMissing(
  context: RouterContext,
  request: CommandRequest,
  namespace: string,
  timeseries: Doc,
): Promise<void> {
  if (routedSeries(context, namespace) !== undefined) return;
  if (context.primaryOf(namespace)?.stored.collection(namespace) !== undefined)
    throw new CommandError(5731500, 'Location5731500', `${namespace} exists and is no time-series collection`);
  const body = doc(['create', collectionOf(namespace)], ['timeseries', timeseries]);
  await createCommand(context, { ...request, db: databaseOf(namespace), name: 'create', body });
}

/** The buckets of a time-series collection on other shards than that of its view. */
export function bucketsElsewhere(context: RouterContext, namespace: string): string | undefined {
  if (routedSeries(context, namespace) === undefined) return undefined;
  const buckets = bucketsNamespaceOf(namespace);
  const isElsewhere = context.catalog.collection(buckets) ?? context.catalog.movedTo(buckets);
  return isElsewhere === undefined ? undefined : buckets;
}

/**
 * `collMod` of a time-series collection: the bucketing of a sharded or moved one is also in the cluster's catalog, and
 * its view shows it where its buckets are not beside it.
 */
export function modifyingSeries(command: Command): Command {
  const onShards = onBuckets(command);
  return async (context, request) => {
    const name = request.body.get(request.name);
    const namespace = `${request.db}.${typeof name === 'string' ? name : ''}`;
    const reply = await onShards(context, request);
    const buckets = bucketsElsewhere(context, namespace);
    if (buckets !== undefined) await noteChanged(context, namespace, buckets);
    return reply;
  };
}

async function noteChanged(context: RouterContext, namespace: string, buckets: string): Promise<void> {
  const [holder] = context.holdersOf(buckets);
  const options = holder?.access.collection(buckets)?.options;
  const primary = context.primaryOf(namespace);
  if (options === undefined || primary === undefined) return;
  const views = primary.access.viewsOf(databaseOf(namespace));
  primary.access.replaceViews(
    databaseOf(namespace),
    views.map((view) => (view.namespace === namespace ? changedView(view, options, context.version) : view)),
  );
  await context.catalog.saveTimeSeries(buckets, docOrEmpty(options.get('timeseries')));
  context.routing.forget(buckets);
}
