import { Long } from 'bson';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { typeName } from '../../bson/type-of.js';
import type { Doc } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { commandNamespace, type RouterContext } from '../router-context.js';
import { changeOwningShard } from './owning-shard-change.js';
import { targetStatement } from './target-statement.js';
import { WriteOutcome } from './write-outcome.js';
import { shardWriteBody, statementField, type WriteKind, writeStatements } from './write-statements.js';

/** Statements for one shard, in the client's order. */
interface ShardPart {
  readonly shard: string;
  /** Set on a part with one statement that may move its document to another shard. */
  readonly mayMoveIn?: ShardedCollection;
  readonly statements: Uint8Array[];
  readonly indexes: number[];
}

/** `insert`, `update` or `delete` through a router. */
export async function bulkWrite(context: RouterContext, request: CommandRequest, kind: WriteKind): Promise<Doc> {
  checkSessionFields(request.body);
  const namespace = commandNamespace(request);
  const statements = writeStatements(request, kind);
  const outcome = new WriteOutcome(kind);
  const ordered = request.body.get('ordered') !== false;
  const collection = context.catalog.collection(namespace);
  if (collection === undefined) {
    const primary = await context.primaryForWrite(namespace);
    const part = { shard: primary.id, statements: [...statements], indexes: statements.map((_, index) => index) };
    await runPart(context, request, kind, part, ordered, outcome, statements.length);
    return outcome.reply();
  }
  const parts = splitByShard(collection, kind, statements, ordered, outcome);
  for (const part of parts) {
    await runPart(context, request, kind, part, ordered, outcome, statements.length);
    if (ordered && outcome.failed) break;
  }
  return outcome.reply();
}

/** @throws CommandError 14 when the number of a retryable write is no long */
function checkSessionFields(body: Doc): void {
  const number = body.get('txnNumber');
  if (number === undefined || number instanceof Long) return;
  const wrong = `BSON field 'OperationSessionInfo.txnNumber' is the wrong type '${typeName(number)}', expected type 'long'`;
  throw new CommandError(14, 'TypeMismatch', wrong);
}

/** Ordered: a part ends where the next statement goes elsewhere. Unordered: one part for each shard. */
function* splitByShard(
  collection: ShardedCollection,
  kind: WriteKind,
  statements: readonly Uint8Array[],
  ordered: boolean,
  outcome: WriteOutcome,
): Generator<ShardPart> {
  const parts = new Map<string, ShardPart>();
  let last: ShardPart | undefined;
  for (const [index, statement] of statements.entries()) {
    let targeted;
    try {
      targeted = targetStatement(collection, kind, statement);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      if (ordered && last !== undefined) yield last;
      if (ordered && outcome.failed) return;
      outcome.fail(error, [index]);
      if (ordered) return;
      continue;
    }
    if (targeted.mayMove) {
      if (last !== undefined) yield last;
      last = undefined;
      const part = { statements: [statement], indexes: [index], mayMoveIn: collection };
      for (const shard of targeted.shards) yield { ...part, shard };
      continue;
    }
    if (ordered && (targeted.shards.length !== 1 || last?.shard !== targeted.shards[0])) {
      if (last !== undefined) yield last;
      last = undefined;
    }
    for (const shard of targeted.shards) {
      const part: ShardPart = (ordered ? last : parts.get(shard)) ?? { shard, statements: [], indexes: [] };
      part.statements.push(targeted.bytes);
      part.indexes.push(index);
      if (!ordered) parts.set(shard, part);
      else if (targeted.shards.length === 1) last = part;
      else yield part;
    }
  }
  if (last !== undefined) yield last;
  yield* parts.values();
}

async function runPart(
  context: RouterContext,
  request: CommandRequest,
  kind: WriteKind,
  part: ShardPart,
  ordered: boolean,
  outcome: WriteOutcome,
  batchSize: number,
): Promise<void> {
  const shard = part.shard === context.configShard.id ? context.configShard : context.catalog.shard(part.shard);
  const sequences = new Map([[statementField[kind], part.statements]]);
  try {
    const [statement] = part.statements;
    const moved =
      part.mayMoveIn !== undefined && statement !== undefined
        ? await changeOwningShard(context, request, part.mayMoveIn, shard, statement, batchSize)
        : undefined;
    const reply = moved ?? (await context.sender.run(shard, request, shardWriteBody(request, kind, part.indexes), { sequences }));
    outcome.add(part.shard, reply, part.indexes);
  } catch (error) {
    if (!(error instanceof CommandError) || request.body.get('autocommit') === false) throw error;
    outcome.fail(error, ordered ? part.indexes.slice(0, 1) : part.indexes);
  }
}
