import { makeUuid } from '../../bson/uuid.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, requiredText } from '../../node/doc-fields.js';
import type { CollectionFacts } from '../../shard/shard-access.js';
import type { RouterContext } from '../router-context.js';
import type { Migration } from './chunk-migration.js';

/** `enableSharding`: creates the database and allows sharded collections in it. */
export async function enableShardingCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const name = requiredText(request.body, 'enableSharding');
  const asked = request.body.get('primaryShard');
  const primary = typeof asked === 'string' ? context.catalog.shard(asked).id : undefined;
  const present = context.catalog.database(name);
  if (present !== undefined && primary !== undefined && present.primary !== primary) {
    throw new CommandError(
      48,
      'NamespaceExists',
      context.version.atLeast(5, 0)
        ? `Database ${name} could not be created :: caused by :: database already created on a primary which is ` +
            `different from ${primary}`
        : `database already created on a primary which is different from: ${primary}`,
    );
  }
  await context.catalog.createDatabase(name, true, primary);
  return new Map();
}

/**
 * `movePrimary`: moves the unsharded collections and the views of a database to another shard, where each gets a new
 * UUID (server source, cloner). Streams show the drops on the donor up to 7.0, and the creations on the recipient.
 * @throws CommandError 24 when transactions block it for as long as they may block a chunk
 */
export async function movePrimaryCommand(
  context: RouterContext,
  request: CommandRequest,
  { lockWaitMs }: Migration,
): Promise<Doc> {
  const { catalog } = context;
  const name = requiredText(request.body, 'movePrimary');
  const target = requiredText(request.body, 'to');
  const from = catalog.shard(context.requireDatabase(name).primary);
  const to = catalog.shards.find(({ id }) => id === target);
  if (to === undefined)
    throw new CommandError(
      70,
      'ShardNotFound',
      catalog.version.atLeast(8, 0)
        ? `requested primary shard ${target} does not exist :: caused by :: Shard ${target} not found`
        : `Could not move database '${name}' to shard '${target}' :: caused by :: Shard ${target} not found`,
    );
  const reply = context.version.atLeast(5, 0) ? new Map<string, Value>() : doc(['primary', to.connectionString]);
  if (from === to) return reply;
  for (const shard of [from, to]) await shard.node.ready(request.signal);
  const unsharded = (): CollectionFacts[] =>
    from.access
      .collectionsOf(name)
      .filter(
        ({ namespace }) => catalog.collection(namespace) === undefined && catalog.movedTo(namespace) === undefined,
      );
  await from.access.cloneHeld(name, to.id, request.signal);
  for (const { namespace } of unsharded()) await from.access.transactionsDone(namespace, lockWaitMs(from.id));
  for (const { namespace, options, indexes } of unsharded()) {
    to.access.ensureCollection(namespace, makeUuid(), options, indexes, true);
    to.access.receiveMigrated(
      namespace,
      from.access.documents(namespace, () => true),
    );
    // The recipient's answer brings its time: the donor drops what it gave later than the recipient created it.
    catalog.clock.announce();
    from.access.forgetCollection(namespace, !catalog.version.atLeast(8, 0));
  }
  // Sharded collections are created there too, without documents.
  for (const { namespace, uuid, options, indexes } of from.access.collectionsOf(name)) {
    if (catalog.movedTo(namespace) === undefined) to.access.ensureCollection(namespace, uuid, options, indexes);
  }
  to.access.replaceViews(name, from.access.viewsOf(name));
  from.access.replaceViews(name, []);
  const entry = context.requireDatabase(name);
  await catalog.saveDatabase({ ...entry, primary: to.id, lastMod: entry.lastMod + 1 });
  return reply;
}
