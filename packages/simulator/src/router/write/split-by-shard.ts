import type { ShardedCollection } from '../../config/sharded-collection.js';
import { CommandError } from '../../node/command.js';
import type { BulkWrite } from './write-statements.js';
import { routerVariables } from '../read/router-variables.js';
import { findShardFor } from './shard-of-match.js';
import { type TargetedStatement, targetStatement } from './target-statement.js';

/** Statements for one shard, in the client's order. */
export interface ShardPart {
  readonly shard: string;
  /** Set on a part with one statement that may move its document to another shard. */
  readonly mayMoveIn?: ShardedCollection;
  /** True for a statement whose document the router has looked for. */
  readonly isFound?: boolean;
  /** True for a statement that goes to every shard, whatever it owns, so that its routing cannot be stale. */
  readonly everywhere?: boolean;
  readonly statements: Uint8Array[];
  readonly indexes: number[];
}

/**
 * Splits statements by their shards. Ordered: a part ends where the next statement goes elsewhere. Unordered: one part
 * for each shard. A statement that cannot be targeted counts as failed.
 * @param indexes of the statements to be sent, in order
 */
export function* splitByShard(
  bulk: BulkWrite,
  collection: ShardedCollection,
  indexes: readonly number[],
): Generator<ShardPart> {
  const { ordered, outcome, statements } = bulk;
  const find = findShardFor(bulk.context, routerVariables(bulk.context, bulk.request));
  const parts = new Map<string, ShardPart>();
  let last: ShardPart | undefined;
  for (const index of indexes) {
    const statement = statements[index] as Uint8Array;
    let targeted: TargetedStatement;
    try {
      targeted = targetStatement(collection, bulk.kind, statement, find, bulk.isOfSeries);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      if (ordered && last !== undefined) yield last;
      if (ordered && outcome.failed) return;
      outcome.fail(error, [index]);
      if (ordered) return;
      continue;
    }
    const { isFound = false } = targeted;
    if (targeted.mayMove || isFound) {
      if (last !== undefined) yield last;
      last = undefined;
      // Statements for one shard stay in the client's order, as several may concern one document.
      yield* parts.values();
      parts.clear();
      for (const shard of targeted.shards)
        yield {
          statements: [statement],
          indexes: [index],
          ...(targeted.mayMove && { mayMoveIn: collection }),
          shard,
          isFound,
        };
      continue;
    }
    const everywhere = targeted.shards.length > 1 && bulk.request.body.get('autocommit') !== false;
    if (everywhere || (ordered && (targeted.shards.length !== 1 || last?.shard !== targeted.shards[0]))) {
      if (ordered && last !== undefined) yield last;
      last = undefined;
    }
    if (everywhere) {
      for (const shard of holders(bulk)) yield { statements: [targeted.bytes], indexes: [index], shard, everywhere };
      continue;
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

/** A statement for several shards goes to all that have the collection, because the server cannot repeat it in part. */
function holders({ context, namespace }: BulkWrite): string[] {
  return context.catalog.shards
    .filter((shard) => shard.stored.collection(namespace) !== undefined)
    .map((shard) => shard.id);
}
