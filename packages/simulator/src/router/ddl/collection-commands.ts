import type { Doc, Value } from '../../bson/value.js';
import type { ShardKeyPattern } from '../../config/shard-key.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { makeUuid, uuidText } from '../../bson/uuid.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import type { ServerVersion } from '../../node/server-version.js';
import { doc, docOf, isTrue, requiredText, textOrEmpty } from '../../node/doc-fields.js';
import { collectionOf, databaseOf } from '../../node/namespace.js';
import { unsimulated } from '../../node/unsimulated.js';
import { documentText, valueText } from '../../bson/text.js';
import { seriesNamespaceOf } from '../../time-series/bucketing.js';
import { commandNamespace, type RouterContext } from '../router-context.js';
import { collectionOptions, inOptionOrder, viewDefinition } from '../../shard/commands/create.js';
import { isNamed } from '../../shard/commands/indexes.js';
import { fanOut, withOwnFields } from './fan-out.js';
import { bumpVersion } from '../sharding/chunk-changes.js';
import { routedSeries } from '../target/series-targets.js';

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

/**
 * The primary shard comes last: its change becomes visible after those of the others (server tests: drop coordinator).
 */
function primaryLast(context: RouterContext, namespace: string, shards: readonly ClusterShard[]): ClusterShard[] {
  const primary = context.primaryOf(namespace)?.id;
  return [...shards].sort((a, b) => Number(a.id === primary) - Number(b.id === primary));
}

/** From 7.0 on only the primary's event is visible (SERVER-71085, SERVER-71365). */
function bodyFor(shard: ClusterShard, primary: ClusterShard | undefined, body: Doc): Doc {
  const isHidden = primary?.node.version.atLeast(7, 0) === true && shard.id !== primary.id;
  return isHidden ? new Map([...body, ['fromMigrate', true]]) : body;
}

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

/**
 * `renameCollection` on every shard that has the collection.
 * @throws CommandError 26 when the other database does not exist; 5807601, or 48 since 6.0, when the target exists; 72
 * between primaries; 13138 and 13139 for sharded collections in 4.4
 */
export async function renameCollectionCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const from = requiredText(request.body, 'renameCollection');
  const to = requiredText(request.body, 'to');
  if (from === to) throw new CommandError(20, 'IllegalOperation', "Can't rename a collection to itself");
  if (seriesNamespaceOf(from) !== undefined)
    throw new CommandError(20, 'IllegalOperation', 'Renaming system.buckets collections is not allowed');
  if (
    context.version.atLeast(8, 0) &&
    databaseOf(from) !== databaseOf(to) &&
    context.catalog.collection(from) !== undefined
  ) {
    const shown = `Source and destination collections must be on the same database because ${from} is sharded.`;
    throw new CommandError(125, 'CommandFailed', shown);
  }
  const source = context.requireDatabase(databaseOf(from));
  const target = context.requireDatabase(databaseOf(to));
  const sharded = context.catalog.collection(from);
  if (source.name !== target.name && (sharded !== undefined || context.primaryOf(from) !== context.primaryOf(to))) {
    throw new CommandError(125, 'CommandFailed', 'Source and destination collections must be on same shard');
  }
  if (sharded !== undefined && source.name !== target.name) {
    throw new CommandError(20, 'IllegalOperation', 'Source and destination collections must be on the same database.');
  }
  if (!context.version.atLeast(5, 0))
    refuseShardedOf44(sharded !== undefined, context.catalog.collection(to) !== undefined);
  const holders = sharded === undefined ? context.holdersOf(from) : context.catalog.shards;
  const shards = holders.filter((shard) => shard.access.collection(from) !== undefined);
  if (
    shards.length === 0 &&
    !context.version.atLeast(5, 0) &&
    holders.some((shard) => shard.stored.view(from) !== undefined)
  ) {
    throw new CommandError(166, 'CommandNotSupportedOnView', `cannot rename view: ${from}`);
  }
  if (shards.length === 0 && context.version.atLeast(8, 0) && context.primaryOf(from)?.stored.view(from) !== undefined)
    throw new CommandError(
      166,
      'CommandNotSupportedOnView',
      `Can't rename source collection \`${from}\` because it is a view.`,
    );
  if (shards.length === 0) throw new CommandError(26, 'NamespaceNotFound', `Collection ${from} doesn't exist.`);
  if (sharded === undefined && context.primaryOf(from) !== context.primaryOf(to)) refuseMovedTarget(context, from, to);
  refuseExistingTarget(context, to, isTrue(request.body.get('dropTarget')));
  await dropShardedTarget(context, request, to, sharded !== undefined);
  const primary = context.primaryOf(from);
  for (const shard of primaryLast(context, from, shards))
    await context.sender.run(shard, request, bodyFor(shard, primary, request.body), { db: 'admin', atOnce: true });
  await context.catalog.renameCollection(from, to);
  context.routing.forget(from);
  context.routing.forget(to);
  const renamed = context.catalog.collection(to);
  // Chunks do not move meanwhile.
  if (renamed !== undefined) await bumpVersion(context.catalog, renamed);
  return new Map();
}

/** If either was moved, a target on another shard would have to be dropped there. */
function refuseMovedTarget(context: RouterContext, from: string, to: string): void {
  if (context.holdersOf(to).some((shard) => shard.access.collection(to) !== undefined))
    throw unsimulated(`renaming ${from} over ${to}, which is on another shard`);
}

/** 4.4 does not rename sharded collections. */
function refuseShardedOf44(source: boolean, target: boolean): void {
  if (source) throw new CommandError(13138, 'Location13138', "You can't rename a sharded collection");
  if (target) throw new CommandError(13139, 'Location13139', "You can't rename to a sharded collection");
}

function refuseExistingTarget(context: RouterContext, to: string, dropTarget: boolean): void {
  const primary = context.primaryOf(to);
  if (context.version.atLeast(8, 0) && primary?.stored.view(to) !== undefined)
    throw new CommandError(
      namespaceExists,
      'NamespaceExists',
      dropTarget
        ? `a view already exists with that name: ${to}`
        : `The collection ${to} already exists in the following shards: [${primary.id}, ]`,
    );
  if (context.version.atLeast(5, 0) && primary?.stored.view(to) !== undefined) {
    throw new CommandError(
      166,
      'CommandNotSupportedOnView',
      `Can't rename to target collection \`${to}\` because it is a view.`,
    );
  }
  const exists = context.holdersOf(to).some((shard) => shard.access.collection(to) !== undefined);
  const isSharded = context.catalog.collection(to) !== undefined;
  if (isSharded && !dropTarget && context.version.atLeast(5, 0))
    throw new CommandError(48, 'NamespaceExists', `Sharded target collection ${to} exists but dropTarget is not set`);
  if (exists && !dropTarget) {
    const message = `Target collection ${to} exists but dropTarget is not set`;
    throw context.version.atLeast(6, 0)
      ? new CommandError(48, 'NamespaceExists', message)
      : new CommandError(5807601, 'Location5807601', message);
  }
  if (context.version.atLeast(5, 0) && context.catalog.zonesOf(to).length > 0) {
    throw new CommandError(
      125,
      'CommandFailed',
      `Can't rename to target collection ${to} because it must not have associated tags`,
    );
  }
}

/**
 * A sharded target, or one of a sharded source, is dropped as a whole. Otherwise the shard drops it with the rename.
 */
async function dropShardedTarget(
  context: RouterContext,
  request: CommandRequest,
  to: string,
  sourceSharded: boolean,
): Promise<void> {
  const target = context.catalog.collection(to);
  if (target === undefined && !sourceSharded) return;
  const holders = (target === undefined ? context.holdersOf(to) : context.catalog.shards).filter(
    (shard) => shard.access.collection(to) !== undefined,
  );
  const primary = context.primaryOf(to);
  for (const shard of primaryLast(context, to, holders)) {
    await context.sender.run(shard, request, bodyFor(shard, primary, new Map([['drop', collectionOf(to)]])), {
      db: databaseOf(to),
    });
  }
  await context.catalog.dropCollection(to);
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

/** `createIndexes` on every shard that holds the collection. Creates a missing one. */
export async function createIndexesCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const namespace = commandNamespace(request);
  const collection = context.catalog.collection(namespace);
  if (collection === undefined)
    return withOwnFields(context, await fanOut(context, request, [await context.primaryForWrite(namespace)]));
  return fanOut(context, request, context.shardsOf(collection.chunks.shards), request.body, (shard) =>
    refuseUniqueBesideKey(collection, shard, request.body),
  );
}

/** Shards refuse it during the build: an index is not about a document's shard key alone. */
function refuseUniqueBesideKey({ key, namespace, uuid }: ShardedCollection, shard: ClusterShard, body: Doc): void {
  const specs = body.get('indexes');
  for (const spec of Array.isArray(specs) ? specs : []) {
    const fields = docOf(spec)?.get('key');
    if (!(spec instanceof Map) || !isTrue(spec.get('unique')) || !(fields instanceof Map)) continue;
    const isId = fields.size === 1 && fields.has('_id');
    if (isId || (key.hashedIndex < 0 && key.isPrefixOf(fields))) continue;
    if (shard.access.collection(namespace)?.indexes.some((index) => index.get('name') === spec.get('name')) === true)
      continue;
    const unique = shard.node.version.atLeast(8, 0) ? "index with 'unique' or 'prepareUnique' option" : 'unique index';
    const shown =
      `Index build failed: ${uuidText(makeUuid().buffer)}: Collection ${namespace} ( ${uuidText(uuid.buffer)} ) ` +
      `:: caused by :: cannot create ${unique} over ${documentText(fields)} with shard key pattern ` +
      documentText(key.doc);
    throw new CommandError(67, 'CannotCreateIndex', shown);
  }
}

/** `dropIndexes` on every shard that holds the collection. */
export async function dropIndexesCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const namespace = commandNamespace(request);
  const shards = context.holdersOf(namespace);
  if (shards.length === 0) throw new CommandError(namespaceNotFound, 'NamespaceNotFound', `ns not found ${namespace}`);
  const key = context.catalog.collection(namespace)?.key;
  const wanted = request.body.get('index');
  if (key === undefined) return withOwnFields(context, await fanOut(context, request, shards));
  if (!keepsKeyIndexes(context, key)) return fanOut(context, request, shards);
  if (wanted !== '*') {
    return fanOut(context, request, shards, request.body, (shard) =>
      refuseLastOfKey(key, shard.access.collection(namespace)?.indexes ?? [], wanted),
    );
  }
  const [, ...secondary] = shards[0]?.access.collection(namespace)?.indexes ?? [];
  const others = secondary.filter((index) => !supportsKey(index, key)).map((index) => index.get('name') ?? null);
  const reply = await fanOut(context, request, shards, new Map([...request.body, ['index', others]]));
  for (const raw of docOf(reply.get('raw'))?.values() ?? []) {
    if (!(raw instanceof Map)) continue;
    const ok = raw.get('ok') ?? null;
    if (context.version.atLeast(8, 0)) raw.delete('ok');
    raw.set('msg', 'non-_id indexes and non-shard key indexes dropped for collection').set('ok', ok);
  }
  return reply;
}

/** Shards keep at least one visible index that supports the shard key (SERVER-6491, and its test in 6.0). */
function refuseLastOfKey(key: ShardKeyPattern, indexes: readonly Doc[], wanted: Value | undefined): void {
  const dropped = Array.isArray(wanted) ? wanted : [wanted];
  const supporting = visibleOfKey(key, indexes);
  if (supporting.length === 0 || !supporting.every((spec) => dropped.some((one) => isNamed(spec, one)))) return;
  const shown = "Cannot drop the only compatible index for this collection's shard key";
  throw new CommandError(370, 'CannotDropShardKeyIndex', shown);
}

/** The visible indexes that support a shard key. */
export function visibleOfKey(key: ShardKeyPattern, indexes: readonly Doc[]): Doc[] {
  return indexes.filter((spec) => supportsKey(spec, key) && !isTrue(spec.get('hidden')));
}

/**
 * Whether `dropIndexes` keeps an index that the shard key needs. 5.0.7 does not (recorded). Later releases do unless
 * the key is hashed (manual: `dropIndexes`).
 */
function keepsKeyIndexes({ version }: RouterContext, key: ShardKeyPattern): boolean {
  return version.atLeast(6, 0) && key.hashedIndex < 0;
}

function supportsKey(spec: Doc, key: ShardKeyPattern): boolean {
  const fields = docOf(spec.get('key'));
  const isWhole = !isTrue(spec.get('sparse')) && !spec.has('partialFilterExpression') && !spec.has('collation');
  return fields !== undefined && isWhole && key.isPrefixOf(fields);
}
