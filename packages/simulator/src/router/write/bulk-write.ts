import { Long } from 'bson';
import { typeName } from '../../bson/type-of.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import type { Doc } from '../../bson/value.js';
import type { ServerVersion } from '../../node/server-version.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { commandNamespace, type RouterContext } from '../router-context.js';
import type { RoutingPicture } from '../target/routing-table.js';
import { isOfSeries } from '../target/series-targets.js';
import { staleConfigError, staleRetriesMax } from '../target/stale-routing.js';
import { type BulkWrite, type WriteKind, writeStatements } from './write-statements.js';
import { runPart } from './run-part.js';
import { type ShardPart, splitByShard } from './split-by-shard.js';
import { routerVariables } from '../read/router-variables.js';
import { findShardFor } from './shard-of-match.js';
import { targetStatement } from './target-statement.js';
import { WriteOutcome } from './write-outcome.js';

/**
 * `insert`, `update` or `delete` through a router. Statements refused for stale routing are sent again. One that cannot
 * be targeted makes the router refresh, once for a bulk, before it counts as failed (server: `BatchWriteExec`).
 */
export async function bulkWrite(context: RouterContext, request: CommandRequest, kind: WriteKind): Promise<Doc> {
  checkSessionFields(request.body, context.version);
  const namespace = commandNamespace(request);
  const statements = writeStatements(request, kind);
  const outcome = new WriteOutcome(kind, context.version.atLeast(8, 0));
  const bulk: BulkWrite = {
    context,
    request,
    kind,
    namespace,
    statements,
    ordered: request.body.get('ordered') !== false,
    outcome,
    isOfSeries: isOfSeries(request),
  };
  let pending = await runRound(bulk, statements.keys());
  for (let retry = 0; pending.length > 0 && !(bulk.ordered && outcome.failed); retry += 1) {
    context.routing.forget(namespace);
    if (retry < staleRetriesMax) pending = await runRound(bulk, pending);
    else
      outcome.fail(
        staleConfigError(namespace, 'its shards'),
        bulk.ordered ? pending.splice(0).slice(0, 1) : pending.splice(0),
      );
  }
  return outcome.reply();
}

/**
 * Sends statements by the router's current routing.
 * @param indexes of the statements, in order
 * @returns those that were not executed because the routing was stale, in order
 */
async function runRound(bulk: BulkWrite, indexes: Iterable<number>): Promise<number[]> {
  const { context, namespace, ordered, outcome, request, statements } = bulk;
  const asked = [...indexes];
  const picture = pictureFor(bulk, asked);
  if (picture.collection === undefined) {
    const primary = await context.routedPrimaryForWrite(namespace);
    const part = {
      shard: primary.id,
      statements: asked.map((index) => statements[index] as Uint8Array),
      indexes: asked,
    };
    return runPart(bulk, part, picture);
  }
  const stale: number[] = [];
  let failedAt: number | undefined;
  let ended: Error | undefined;
  for (const part of splitByShard(bulk, picture.collection, asked)) {
    // All shards of a statement are asked at once: the answer of one does not stop the others.
    if (failedAt !== undefined && part.indexes[0] !== failedAt) break;
    if (failedAt !== undefined && request.body.get('autocommit') === false) {
      await runUnheard(bulk, part, picture);
      continue;
    }
    try {
      stale.push(...(await runPart(bulk, part, part.everywhere === true ? undefined : picture)));
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      ended = error;
    }
    if (ended !== undefined || (ordered && (outcome.failed || stale.length > 0))) failedAt = part.indexes.at(-1);
  }
  if (ended !== undefined) throw ended;
  const [first] = stale;
  if (ordered && first !== undefined) return asked.filter((index) => index >= first);
  return stale.sort((a, b) => a - b);
}

/**
 * Within a transaction a router ignores the shards that answer after a failed one. They have been asked all the same.
 */
async function runUnheard(bulk: BulkWrite, part: ShardPart, picture: RoutingPicture): Promise<void> {
  const transaction = bulk.context.transactions.of(bulk.request.body);
  const before = transaction?.participants.get(part.shard) ?? 'unheard';
  await runPart({ ...bulk, outcome: new WriteOutcome(bulk.kind) }, part, picture).catch(() => undefined);
  transaction?.participants.set(part.shard, before);
}

/** The current routing, or a new one when stale routing cannot target statements. A transaction keeps its own. */
function pictureFor(bulk: BulkWrite, indexes: readonly number[]): RoutingPicture {
  const { context, namespace, request } = bulk;
  const picture = context.routing.picture(namespace);
  if (picture.collection === undefined || picture.collection === context.catalog.collection(namespace)) return picture;
  if (request.body.get('autocommit') === false || canTarget(bulk, picture.collection, indexes)) return picture;
  context.routing.forget(namespace);
  return context.routing.picture(namespace);
}

function canTarget(
  { context, kind, request, statements, isOfSeries: ofSeries }: BulkWrite,
  collection: ShardedCollection,
  indexes: readonly number[],
): boolean {
  const find = findShardFor(context, routerVariables(context, request));
  try {
    for (const index of indexes) targetStatement(collection, kind, statements[index] as Uint8Array, find, ofSeries);
    return true;
  } catch (error) {
    if (error instanceof CommandError) return false;
    throw error;
  }
}

/** @throws CommandError 14 when the number of a retryable write is no long */
function checkSessionFields(body: Doc, version: ServerVersion): void {
  const number = body.get('txnNumber');
  if (number === undefined || number instanceof Long) return;
  const field = `BSON field '${version.atLeast(8, 0) ? 'request' : 'OperationSessionInfo'}.txnNumber'`;
  const wrong = `${field} is the wrong type '${typeName(number)}', expected type 'long'`;
  throw new CommandError(14, 'TypeMismatch', wrong);
}
