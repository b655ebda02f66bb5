import type { Doc } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { isTrue, requiredText } from '../../node/doc-fields.js';
import { collectionOf, databaseOf } from '../../node/namespace.js';
import { unsimulated } from '../../node/unsimulated.js';
import { seriesNamespaceOf } from '../../time-series/bucketing.js';
import type { RouterContext } from '../router-context.js';
import { bumpVersion } from '../sharding/chunk-changes.js';
import { bodyFor, primaryLast } from './fan-out.js';

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
      48,
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
