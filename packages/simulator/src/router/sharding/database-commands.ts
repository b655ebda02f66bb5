import type { Doc } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, requiredText } from '../../node/doc-fields.js';
import type { CollectionFacts } from '../../shard/shard-access.js';
import type { RouterContext } from '../router-context.js';
import type { Migration } from './chunk-migration.js';

/** `enableSharding`: makes the database and lets its collections be sharded. */
export async function enableShardingCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const name = requiredText(request.body, 'enableSharding');
  const asked = request.body.get('primaryShard');
  const primary = typeof asked === 'string' ? context.catalog.shard(asked).id : undefined;
  const present = context.catalog.database(name);
  if (present !== undefined && primary !== undefined && present.primary !== primary) {
    throw new CommandError(48, 'NamespaceExists', `database already created on a primary which is different from: ${primary}`);
  }
  await context.catalog.createDatabase(name, true, primary);
  return new Map();
}

/**
 * `movePrimary`: moves the unsharded collections and the views of a database to another shard.
 * @throws CommandError 24 when transactions hold it up for as long as they may a chunk
 */
export async function movePrimaryCommand(context: RouterContext, request: CommandRequest, { lockWaitMs }: Migration): Promise<Doc> {
  const { catalog } = context;
  const name = requiredText(request.body, 'movePrimary');
  const to = catalog.shard(requiredText(request.body, 'to'));
  const from = catalog.shard(context.requireDatabase(name).primary);
  if (from === to) return doc(['primary', to.connectionString]);
  for (const shard of [from, to]) await shard.node.ready(request.signal);
  const unsharded = (): CollectionFacts[] => from.access.collectionsOf(name).filter(({ namespace }) => catalog.collection(namespace) === undefined);
  for (const { namespace } of unsharded()) await from.access.transactionsDone(namespace, lockWaitMs(from.id));
  for (const { namespace, uuid, options, indexes } of unsharded()) {
    to.access.ensureCollection(namespace, uuid, options, indexes);
    to.access.receiveMigrated(namespace, from.access.documents(namespace, () => true));
    from.access.forgetCollection(namespace);
  }
  to.access.replaceViews(name, from.access.viewsOf(name));
  from.access.replaceViews(name, []);
  await catalog.saveDatabase({ ...context.requireDatabase(name), primary: to.id });
  return doc(['primary', to.connectionString]);
}
