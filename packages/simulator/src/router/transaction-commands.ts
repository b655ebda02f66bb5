import { setTimeout as delay } from 'node:timers/promises';
import { Int32, Timestamp } from 'bson';
import type { ClusterShard } from '../config/cluster-shard.js';
import type { Doc, Value } from '../bson/value.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { doc, docOf, textOrEmpty } from '../node/doc-fields.js';
import { errorLabels } from '../node/error-labels.js';
import { refuseInTransaction } from '../shard/session/transaction-rules.js';
import type { RouterContext } from './router-context.js';
import { isWriteKind, writeStatements } from './write/write-statements.js';
import { noSuchTransaction, type RoutedTransaction } from './router-transactions.js';

/** How often a participant is asked to commit after the decision, for as long as a test may stop it. */
const commitTriesMax = 1000;
const commitPause_ms = 50;

/**
 * Runs a statement of a transaction. A failure aborts the transaction on every shard that takes part so far, as the
 * server's router does.
 */
export async function runStatement(
  context: RouterContext,
  request: CommandRequest,
  run: () => Promise<Doc>,
): Promise<Doc> {
  refuseInTransaction(request);
  // An unreadable command starts no transaction.
  if (isWriteKind(request.name)) writeStatements(request, request.name);
  const transaction = context.transactions.enter(request.body);
  if (transaction === undefined) return run();
  try {
    const reply = await run();
    if (reply.has('writeErrors')) await giveUp(context, request, transaction, true);
    return reply.set('recoveryToken', recoveryToken(transaction));
  } catch (error) {
    await giveUp(context, request, transaction, false);
    throw error;
  }
}

function recoveryToken({ recoveryShard }: RoutedTransaction): Doc {
  return recoveryShard === undefined ? doc() : doc(['recoveryShardId', recoveryShard]);
}

/**
 * A shard's refusal that a router passes on as a whole: its labels come first, as in the shard's own reply, and the
 * router's knowledge of the transaction last. Anything but a refusal within a transaction is returned unchanged.
 */
export function handedOn(context: RouterContext, request: CommandRequest, error: unknown): unknown {
  const transaction = request.body.get('autocommit') === false ? context.transactions.of(request.body) : undefined;
  if (!(error instanceof CommandError) || transaction === undefined) return error;
  const labels = errorLabels('router', request, error);
  const first: [string, Value][] = labels.length === 0 ? [] : [['errorLabels', [...labels]]];
  const extra = new Map<string, Value>([...first, ...error.extra, ['recoveryToken', recoveryToken(transaction)]]);
  return new CommandError(error.code, error.codeName, error.message, labels, extra);
}

/** `commitTransaction`: directly when at most one shard has written, else in two phases. May be repeated. */
export async function commitTransactionCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const { transactions } = context;
  const transaction = transactions.of(request.body) ?? transactions.recover(request.body);
  transaction.ending = true;
  if (transaction.recovering) return recovered(context, request, transaction);
  if (transaction.participants.size > 0) await refuseUnheard(context, request, transaction);
  try {
    const reply =
      transaction.participants.size === 0
        ? doc()
        : await commitEverywhere(context, request, transaction, withoutToken(request.body));
    return reply.set('recoveryToken', recoveryToken(transaction));
  } catch (error) {
    throw handedOn(context, request, error);
  }
}

/** A participant that has only failed cannot commit, and so the others cannot either. @throws CommandError 251 */
async function refuseUnheard(
  context: RouterContext,
  request: CommandRequest,
  transaction: RoutedTransaction,
): Promise<void> {
  const [shard] = transaction.shards('unheard');
  if (shard === undefined) return;
  await abortEverywhere(context, request, transaction);
  const name = context.transactions.nameOf(request.body, transaction.txnNumber);
  const rule = `because a previous statement on the transaction participant ${shard} was unsuccessful.`;
  throw noSuchTransaction(`${name} Failed to commit transaction ${rule}`);
}

/**
 * Commits on all participants of a transaction.
 * @param body the command that ends it, as far as shards understand it
 * @throws CommandError 251 when a participant cannot commit; the transaction is then aborted everywhere
 */
export async function commitEverywhere(
  context: RouterContext,
  request: CommandRequest,
  transaction: RoutedTransaction,
  body: Doc,
): Promise<Doc> {
  // A client that repeats the request gets the same answer, and a participant no other time.
  if (transaction.decision !== undefined) return new Map(await transaction.decision);
  transaction.ending = true;
  const writers = transaction.shards('wrote');
  if (writers.length > 1 && !transaction.isCoordinated) throw foundAborted();
  let reply: Doc = new Map();
  for (const id of transaction.shards('reads')) reply = await commitReader(context, request, transaction, id, body);
  if (writers.length > 1) {
    const commitTime = await prepareAll(context, request, transaction, writers, body);
    transaction.decision = carryOut(context, request, writers, new Map(body).set('commitTimestamp', commitTime));
    return new Map(await transaction.decision);
  }
  for (const id of writers) reply = worse(reply, await send(context, request, id, body));
  return reply;
}

/** Where one shard alone has written, its outcome counts when one that has only read cannot commit. */
async function commitReader(
  context: RouterContext,
  request: CommandRequest,
  transaction: RoutedTransaction,
  id: string,
  body: Doc,
): Promise<Doc> {
  try {
    return await send(context, request, id, body);
  } catch (error) {
    throw transaction.shards('wrote').length > 0 ? foundAborted() : error;
  }
}

function foundAborted(): CommandError {
  return noSuchTransaction("Recovering the transaction's outcome found the transaction aborted");
}

function worse(first: Doc, second: Doc): Doc {
  return second.has('writeConcernError') || !first.has('writeConcernError') ? second : first;
}

/**
 * Carries out a commit decision, whatever fails on participants. Where servers answer as soon as the decision is
 * durable (`coordinateCommitReturnImmediatelyAfterPersistingDecision`), hanging participants are not awaited.
 */
async function carryOut(
  context: RouterContext,
  request: CommandRequest,
  writers: readonly string[],
  body: Doc,
): Promise<Doc> {
  const shards = writers.map((id) => participant(context, id));
  const [coordinator] = shards;
  coordinator?.stored.coordinate(request.body, shards.length);
  const replies: Promise<Doc>[] = [];
  const prompt: Doc[] = [];
  for (const shard of shards) {
    const reply = commitSurely(context, request, shard, body);
    replies.push(reply);
    // One after the other, as recorded, without waiting for one that hangs.
    if (!shard.holdsCommits() && shard.node.up) prompt.push(await reply);
  }
  const done = Promise.all(replies).finally(() => coordinator?.stored.coordinate(request.body, 0));
  done.catch(() => undefined);
  return (coordinator?.answersAtDecision() === true ? prompt : await done).reduce(worse, new Map());
}

/** Commits on a participant, with retries while it is unreachable: a decision is final. */
async function commitSurely(
  context: RouterContext,
  request: CommandRequest,
  shard: ClusterShard,
  body: Doc,
): Promise<Doc> {
  // The coordinator continues when its client disconnects.
  const lasting: CommandRequest = { ...request, signal: new AbortController().signal };
  for (let tries = 1; ; tries += 1) {
    try {
      return await send(context, lasting, shard.id, body);
    } catch (error) {
      if (tries >= commitTriesMax) throw error;
      await delay(commitPause_ms, undefined, { ref: false });
    }
  }
}

/**
 * The first phase.
 * @returns the time from which on all writes are visible: the latest of the participants' prepare times
 */
async function prepareAll(
  context: RouterContext,
  request: CommandRequest,
  transaction: RoutedTransaction,
  writers: readonly string[],
  body: Doc,
): Promise<Timestamp> {
  const prepare = new Map<string, Value>([['prepareTransaction', new Int32(1)], ...[...body].slice(1)]);
  prepare.delete('writeConcern');
  let latest: Timestamp | undefined;
  for (const id of writers) {
    try {
      const time = (await send(context, request, id, prepare)).get('prepareTimestamp');
      if (time instanceof Timestamp && (latest === undefined || time.greaterThan(latest))) latest = time;
    } catch (error) {
      await abortEverywhere(context, request, transaction);
      transaction.isCoordinated = false;
      const cause = error instanceof Error ? error.message : '';
      throw noSuchTransaction(`Transaction was aborted :: caused by :: from shard ${id} :: caused by :: ${cause}`);
    }
  }
  return latest ?? context.clock.current();
}

/**
 * The outcome of a transaction that this router does not know, from the shard in the client's recovery token. Without a
 * token the router aborts the statements it has sent under the number.
 */
async function recovered(
  context: RouterContext,
  request: CommandRequest,
  transaction: RoutedTransaction,
): Promise<Doc> {
  const token = docOf(request.body.get('recoveryToken'));
  if (token === undefined) {
    await giveUp(context, request, transaction, false);
    throw new CommandError(50940, 'Location50940', 'Cannot recover the transaction decision without a recoveryToken');
  }
  transaction.askedFor = true;
  const id = textOrEmpty(token.get('recoveryShardId'));
  if (id === '') {
    throw noSuchTransaction(
      'Recovery token is empty, meaning the transaction only performed reads and can be safely retried',
    );
  }
  const body = withoutToken(request.body);
  const ask = new Map<string, Value>([
    ['coordinateCommitTransaction', new Int32(1)],
    ['participants', []],
    ...[...body].slice(1),
  ]);
  const reply = await send(context, request, id, ask);
  return reply.set('recoveryToken', token);
}

/** `abortTransaction` on every participant. */
export async function abortTransactionCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const transaction = context.transactions.of(request.body);
  if (transaction === undefined) {
    context.transactions.refuseOlder(request.body);
    throw context.transactions.unknown(request.body);
  }
  context.transactions.refuseNotStarted(request.body);
  if (transaction.participants.size === 0) {
    throw noSuchTransaction('no known command has been sent by this router for this transaction');
  }
  transaction.ending = true;
  const body = withoutToken(request.body);
  let reply: Doc = new Map();
  let failure: unknown;
  for (const id of transaction.shards()) {
    try {
      reply = await abortOn(context, request, transaction, id, body);
    } catch (error) {
      failure ??= error;
    }
  }
  if (failure !== undefined) throw handedOn(context, request, failure);
  return reply.set('recoveryToken', recoveryToken(transaction));
}

/**
 * Aborts a transaction after a statement has failed. A commit in progress over several shards continues.
 * @param listens whether reports of participants still count
 */
async function giveUp(
  context: RouterContext,
  request: CommandRequest,
  transaction: RoutedTransaction,
  listens: boolean,
): Promise<void> {
  if (transaction.decision !== undefined || transaction.askedFor || transaction.participants.size === 0) return;
  transaction.gaveUp = !listens;
  await abortEverywhere(context, request, transaction);
  transaction.gaveUp = true;
}

/** Aborts on all participants. Those that have aborted already do not fail. */
export async function abortEverywhere(
  context: RouterContext,
  request: CommandRequest,
  transaction: RoutedTransaction,
): Promise<void> {
  const body = doc(['abortTransaction', new Int32(1)], ['autocommit', false]);
  for (const id of transaction.shards()) await abortOn(context, request, transaction, id, body).catch(() => undefined);
}

async function abortOn(
  context: RouterContext,
  request: CommandRequest,
  transaction: RoutedTransaction,
  id: string,
  body: Doc,
): Promise<Doc> {
  const reply = await send(context, request, id, body);
  if (id === transaction.coordinator) transaction.isCoordinated = false;
  return reply;
}

function send(context: RouterContext, request: CommandRequest, id: string, body: Doc): Promise<Doc> {
  return context.sender.run(participant(context, id), request, body, { db: 'admin' });
}

function participant({ configShard, catalog }: RouterContext, id: string): ClusterShard {
  return id === configShard.id ? configShard : catalog.shard(id);
}

function withoutToken(body: Doc): Doc {
  const sent = new Map(body);
  sent.delete('recoveryToken');
  return sent;
}
