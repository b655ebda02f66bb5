import type { Doc } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, requiredText } from '../../node/doc-fields.js';
import type { RouterContext } from '../router-context.js';

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

/** `movePrimary`: moves the unsharded collections of a database to another shard. */
export async function movePrimaryCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const entry = context.requireDatabase(requiredText(request.body, 'movePrimary'));
  const to = context.catalog.shard(requiredText(request.body, 'to'));
  const from = context.catalog.shard(entry.primary);
  if (from === to) return doc(['primary', to.connectionString]);
  for (const facts of from.access.collectionsOf(entry.name)) {
    if (context.catalog.collection(facts.namespace) !== undefined) continue;
    to.access.ensureCollection(facts.namespace, facts.uuid, facts.options, facts.indexes);
    to.access.receiveMigrated(facts.namespace, from.access.documents(facts.namespace, () => true));
    from.access.forgetCollection(facts.namespace);
  }
  await context.catalog.saveDatabase({ ...entry, primary: to.id });
  return doc(['primary', to.connectionString]);
}
