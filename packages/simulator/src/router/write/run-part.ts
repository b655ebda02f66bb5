import { Int32 } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { errorLabels } from '../../node/error-labels.js';
import { doc, docOf, isTrue, numberOf, textOrEmpty } from '../../node/doc-fields.js';
import type { RoutingPicture } from '../target/routing-table.js';
import { canRepeat, isStale, isStaleCode, staleConfigError } from '../target/stale-routing.js';
import { type BulkWrite, shardWriteBody, statementField } from './write-statements.js';
import { changeOwningShard, imageOf, wouldChangeOwningShard } from './owning-shard-change.js';
import type { ShardPart } from './split-by-shard.js';

/**
 * Sends one part of a bulk write to its shard and adds the reply to the outcome.
 * @param picture the routing that chose the shard; undefined when ownership does not matter
 * @returns indexes of the statements that the shard did not execute because the routing was stale
 */
export async function runPart(
  bulk: BulkWrite,
  part: ShardPart,
  picture: RoutingPicture | undefined,
): Promise<number[]> {
  const { request, ordered, outcome } = bulk;
  try {
    const reply = await send(bulk, part, picture);
    const first = firstStale(reply.get('writeErrors'));
    if (first !== undefined && !canRepeat(request)) throw staleConfigError(bulk.namespace, part.shard);
    if (first !== undefined) dropStale(reply);
    if (part.isFound === true) nameShard(part.shard, reply);
    outcome.add(part.shard, reply, part.indexes);
    return first === undefined ? [] : part.indexes.slice(first);
  } catch (error) {
    if (isStale(error) && canRepeat(request)) return [...part.indexes];
    if (isStale(error)) bulk.context.routing.forget(bulk.namespace);
    if (!(error instanceof CommandError)) throw error;
    const isTransient = errorLabels('router', request, error).includes('TransientTransactionError');
    if (request.body.get('autocommit') === false && isTransient) throw metInTransaction(bulk, part, error);
    outcome.fail(error, ordered ? part.indexes.slice(0, 1) : part.indexes);
    return [];
  }
}

/** Failures of a write whose document was looked for name a shard (seen on 8.0.10, not always the document's). */
function nameShard(shard: string, reply: Doc): void {
  const errors = reply.get('writeErrors');
  for (const each of Array.isArray(errors) ? errors : []) {
    const error = docOf(each);
    const before = `Write results unavailable from failing to target a host in the shard ${shard}`;
    error?.set('errmsg', `${before} :: caused by :: ${textOrEmpty(error.get('errmsg'))}`);
  }
}

/**
 * A failure after which a client may retry the whole transaction, in the words of the router. Others look like those of
 * statements.
 */
function metInTransaction({ context }: BulkWrite, { shard }: ShardPart, error: CommandError): CommandError {
  if (shard === context.configShard.id) return error;
  const { connectionString } = context.catalog.shard(shard);
  const host = connectionString.slice(connectionString.indexOf('/') + 1);
  return new CommandError(
    error.code,
    error.codeName,
    `Encountered error from ${host} during a transaction :: caused by :: ${error.message}`,
    error.labels,
    error.extra,
  );
}

async function send(bulk: BulkWrite, part: ShardPart, picture: RoutingPicture | undefined): Promise<Doc> {
  const { context, request, kind, ordered } = bulk;
  const atOnce = part.everywhere === true || !ordered;
  const shard = part.shard === context.configShard.id ? context.configShard : context.catalog.shard(part.shard);
  const sequences = new Map([[statementField[kind], part.statements]]);
  const reply = await context.sender.run(shard, request, shardWriteBody(request, kind, part.indexes), {
    sequences,
    picture,
    atOnce,
  });
  const refusal = part.mayMoveIn === undefined ? undefined : ownerRefusal(reply);
  if (refusal === undefined || part.mayMoveIn === undefined) return reply;
  await changeOwningShard(context, request, part.mayMoveIn, shard, refusal, bulk.statements.length);
  if (!isTrue(refusal.get('shouldUpsert'))) return doc(['n', new Int32(1)], ['nModified', new Int32(1)]);
  const upserted = doc(['index', new Int32(0)], ['_id', imageOf(refusal, 'postImage').get('_id') ?? null]);
  return doc(['n', new Int32(1)], ['nModified', new Int32(0)], ['upserted', [upserted]]);
}

/** The error of an update that would move its document to another shard. */
function ownerRefusal(reply: Doc): Doc | undefined {
  const errors = reply.get('writeErrors');
  const error = Array.isArray(errors) ? docOf(errors[0]) : undefined;
  return numberOf(error?.get('code')) === wouldChangeOwningShard ? error : undefined;
}

/** Place within the part of the first statement that met stale routing. Those after it were not executed either. */
function firstStale(errors: Value | undefined): number | undefined {
  for (const each of Array.isArray(errors) ? errors : []) {
    const error = docOf(each);
    if (isStaleCode(numberOf(error?.get('code')))) return numberOf(error?.get('index'));
  }
  return undefined;
}

function dropStale(reply: Doc): void {
  const errors = reply.get('writeErrors');
  const kept = Array.isArray(errors) ? errors.filter((each) => !isStaleCode(numberOf(docOf(each)?.get('code')))) : [];
  if (kept.length > 0) reply.set('writeErrors', kept);
  else reply.delete('writeErrors');
}
