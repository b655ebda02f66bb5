import { parseCollation } from '../../bson/collation.js';
import { decodeDocument } from '../../bson/decode.js';
import type { Doc, Value } from '../../bson/value.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { docOf } from '../../node/doc-fields.js';
import type { ExpressionContext } from '../../expression/variables.js';
import { compileMatcher } from '../../query/matcher.js';
import { compileSortKeys } from '../../query/sort.js';
import type { RouterContext } from '../router-context.js';

/** What chooses the document that a write of one document changes. */
interface Wanted {
  readonly filter: Doc;
  readonly sort: Doc | undefined;
  readonly collation: Value | undefined;
}

/** Finds the shard of the document that a write of one document changes, among some. */
export type FindShard = (collection: ShardedCollection, wanted: Wanted, shards: readonly string[]) => string;

/**
 * Since 8.0 a write of one document may name neither its shard key nor its `_id`: routers look on all shards for a
 * document (manual: updateOne, since 7.1). Undefined before. What the write's own transaction has changed is not seen.
 */
export function findShardFor(context: RouterContext, variables: ExpressionContext): FindShard | undefined {
  if (!context.version.atLeast(8, 0)) return undefined;
  return (collection, wanted, shards) => shardOfMatch(context, variables, collection, wanted, shards);
}

function shardOfMatch(
  { catalog }: RouterContext,
  variables: ExpressionContext,
  collection: ShardedCollection,
  { filter, sort, collation }: Wanted,
  shards: readonly string[],
): string {
  const asked = docOf(collation) ?? collection.defaultCollation;
  const compared = asked === undefined ? undefined : parseCollation(asked);
  const matches = compileMatcher(filter, compared, variables);
  const found = shards.flatMap((shard) => {
    const owned = catalog
      .shard(shard)
      .access.documents(
        collection.namespace,
        (bytes) => collection.chunks.holderOf(collection.key.keyOf(bytes)) === shard,
      );
    return owned.flatMap((bytes) => {
      const document = decodeDocument(bytes);
      return matches(document) ? [{ shard, document }] : [];
    });
  });
  const keys = sort === undefined ? undefined : compileSortKeys(sort, compared);
  const [first] =
    keys === undefined
      ? found
      : found
          .map(({ shard, document }) => ({ shard, key: keys.keyOf(document) }))
          .sort((a, b) => keys.compareKeys(a.key, b.key));
  return first?.shard ?? shards[0] ?? '';
}
