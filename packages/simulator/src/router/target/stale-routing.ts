import { CommandError, type CommandRequest } from '../../node/command.js';
import { resolveView } from '../read/views.js';
import type { RouterContext } from '../router-context.js';

/** How often a router refreshes before it fails (server: `kMaxNumStaleVersionRetries`). */
export const staleRetriesMax = 10;

const staleConfig = 13_388;
const staleDatabase = 249;
/** A shard in a stale routing table may have been removed. */
const shardNotFound = 70;

/**
 * A shard's refusal of a command whose sender does not know what the shard owns. Routers refresh, and clients never see
 * it.
 */
export function staleConfigError(namespace: string, shard: string): CommandError {
  return new CommandError(staleConfig, 'StaleConfig', `version mismatch detected for ${namespace} on ${shard}`);
}

/** The same for an unsharded collection whose database has another primary. */
export function staleDatabaseError(database: string, shard: string): CommandError {
  return new CommandError(staleDatabase, 'StaleDbVersion', `version mismatch for database ${database} on ${shard}`);
}

export function isStale(error: unknown): boolean {
  return error instanceof CommandError && !(error instanceof ConvertedUpdateError) && isStaleCode(error.code);
}

export function isStaleCode(code: number | undefined): boolean {
  return code === staleConfig || code === staleDatabase || code === shardNotFound;
}

/**
 * Whether a router may send a command again after stale routing. Not in a transaction: other shards may have executed
 * the statement (server: `canContinueOnStaleShardOrDbError`, whose retries are behind a fail point).
 */
export function canRepeat({ body }: CommandRequest): boolean {
  return body.get('autocommit') !== false;
}

/**
 * Runs a command whose first field names its collection, and again with a refreshed routing whenever a shard reports
 * that it is stale.
 */
export async function retriedWhenStale<T>(
  context: RouterContext,
  request: CommandRequest,
  command: (context: RouterContext, request: CommandRequest) => T | Promise<T>,
): Promise<T> {
  const name = request.body.get(request.name);
  const namespace = typeof name === 'string' ? `${request.db}.${name}` : request.db;
  for (let retry = 0; ; retry += 1) {
    try {
      return await command(context, request);
    } catch (error) {
      if (!isStale(error)) throw error;
      context.routing.forget(namespace);
      context.routing.forget(resolveView(context, namespace)?.namespace ?? namespace);
      if (retry >= staleRetriesMax || !canRepeat(request)) throw error;
    }
  }
}

/**
 * The failure of an update that was converted into a transaction, since its document would move to another shard. The
 * router returns it and does not retry, even after stale routing: an aborted transaction may have used the write's
 * number (server source: cluster_write_cmd, document_shard_key_update_util).
 */
export class ConvertedUpdateError extends CommandError {}
