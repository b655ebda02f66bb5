import { documentText, valueText } from '../../bson/text.js';
import type { Doc, Value } from '../../bson/value.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, isTrue, textOrEmpty } from '../../node/doc-fields.js';
import { collectionOf, databaseOf } from '../../node/namespace.js';
import type { ServerVersion } from '../../node/server-version.js';
import { collectionOptions, inOptionOrder, viewDefinition } from '../../shard/commands/create.js';
import { commandNamespace, type RouterContext } from '../router-context.js';
import { routedSeries } from '../target/series-targets.js';
import { bodyFor, primaryLast } from './fan-out.js';

/**
 * `create` of a collection or view on the primary shard of its database, which refuses options that differ from an
 * existing one's.
 */
export async function createCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const namespace = commandNamespace(request);
  const primary = await context.primaryForWrite(namespace);
  if (isTrue(request.body.get('capped')) && !request.body.has('size'))
    throw new CommandError(72, 'InvalidOptions', 'specify size:<n> when capped is true');
  const sharded = context.catalog.collection(namespace) !== undefined;
  if (sharded && primary.access.collection(namespace) === undefined) return new Map();
  try {
    await context.sender.run(primary, request, request.body);
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== namespaceExists || request.body.get('autocommit') === false)
      throw error;
    refuseOtherOptions(primary, namespace, request.body, context.version);
  }
  return new Map();
}

/** An existing collection may be created again with the same options. @throws CommandError 48 for others */
function refuseOtherOptions(primary: ClusterShard, namespace: string, body: Doc, version: ServerVersion): void {
  const present = primary.access.collection(namespace)?.options ?? primary.stored.view(namespace)?.options;
  if (present === undefined || sameOptions(present, body, version)) return;
  const shown = new Map(
    [...inOptionOrder(present)].filter(
      ([name, value]) => name !== 'pipeline' || (Array.isArray(value) && value.length > 0),
    ),
  );
  throw new CommandError(
    namespaceExists,
    'NamespaceExists',
    version.atLeast(8, 0)
      ? differenceText(primary, namespace, shown, body)
      : `ns: ${namespace} already exists with different options: ${documentText(shown)}`,
  );
}

/** What is there instead, as 8.0.10 words it. */
function differenceText(primary: ClusterShard, namespace: string, shown: Doc, body: Doc): string {
  const before = `namespace ${namespace} already exists, but`;
  const uuid = primary.access.collection(namespace)?.uuid;
  if (uuid !== undefined)
    return `${before} with different options: ${documentText(new Map<string, Value>([['uuid', uuid], ...shown]))}`;
  const db = databaseOf(namespace);
  const [actual, asked] = [shown, body].map((options) => textOrEmpty(options.get('viewOn')));
  if (actual !== asked)
    return `${before} is a view on ${db}.${String(actual)} rather than ${asked === '' ? db : `${db}.${String(asked)}`}`;
  const [present, wanted] = [shown, body].map((options) => valueText(options.get('pipeline') ?? []));
  return `${before} with pipeline ${String(present)} rather than ${String(wanted)}`;
}

/** All other options are compared before the collation, which may be missing. */
function sameOptions(present: Doc, body: Doc, version: ServerVersion): boolean {
  return ['collation', ''].every(
    (left) => optionsText(without(present, left)) === optionsText(optionsOf(without(body, left), version)),
  );
}

function optionsOf(body: Doc, version: ServerVersion): Doc {
  return body.has('viewOn') ? viewDefinition(body).options : collectionOptions(body, version);
}

function optionsText(options: Doc): string {
  return documentText(new Map([...options].sort(([a], [b]) => (a < b ? -1 : 1))));
}

function without(doc: Doc, name: string): Doc {
  return new Map([...doc].filter(([each]) => each !== name));
}

const namespaceExists = 48;

/** `drop` on every shard that has the collection, sharded or not. Dropping a missing one succeeds. */
export async function dropCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const namespace = commandNamespace(request);
  const primary = context.primaryOf(namespace);
  if (primary === undefined) return doc(['info', 'database does not exist']);
  const buckets = routedSeries(context, namespace)?.buckets;
  const isSharded = buckets !== undefined && context.catalog.collection(buckets) !== undefined;
  if (isSharded) await dropBuckets(context, request, buckets, primary);
  const holders = context.catalog.shards.filter(
    (shard) => shard === primary || shard.access.collection(namespace) !== undefined,
  );
  for (const shard of primaryLast(context, namespace, holders)) {
    try {
      await context.sender.run(shard, request, bodyFor(shard, primary, request.body));
    } catch (error) {
      if (!(error instanceof CommandError) || error.code !== namespaceNotFound) throw error;
    }
  }
  await context.catalog.dropCollection(namespace);
  context.routing.forget(namespace);
  if (buckets === undefined) return new Map();
  if (!isSharded) await dropBuckets(context, request, buckets, primary);
  await context.catalog.dropCollection(buckets);
  context.routing.forget(buckets);
  return new Map();
}

/** The buckets of a time-series collection on other shards than that of its view, which drops its own with the view. */
async function dropBuckets(
  context: RouterContext,
  request: CommandRequest,
  buckets: string,
  ofView: ClusterShard,
): Promise<void> {
  const body: Doc = new Map([['drop', collectionOf(buckets)]]);
  const primary = context.primaryOf(buckets);
  for (const shard of context.catalog.shards)
    if (shard !== ofView && shard.access.collection(buckets) !== undefined)
      await context.sender.run(shard, request, bodyFor(shard, primary, body));
}

const namespaceNotFound = 26;

/** `dropDatabase` on all shards. */
export async function dropDatabaseCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const entry = context.catalog.database(request.db);
  if (entry === undefined) return new Map();
  const primaryFirst = [...context.catalog.shards].sort(
    (a, b) => Number(b.id === entry.primary) - Number(a.id === entry.primary),
  );
  for (const shard of primaryFirst) {
    if (shard.access.hasDatabase(request.db)) await context.sender.run(shard, request, request.body);
  }
  await context.catalog.dropDatabase(request.db);
  context.routing.forgetDatabase(request.db);
  return new Map();
}

/** `convertToCapped` on the primary shard. */
export async function convertToCappedCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const namespace = commandNamespace(request);
  if (context.catalog.collection(namespace) !== undefined) {
    throw new CommandError(20, 'IllegalOperation', "You can't convertToCapped a sharded collection");
  }
  const [primary] = context.holdersOf(namespace);
  if (primary === undefined)
    throw new CommandError(namespaceNotFound, 'NamespaceNotFound', `database ${request.db} not found`);
  await context.sender.run(primary, request, request.body);
  return new Map();
}
