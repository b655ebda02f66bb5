import { decodeDocument } from '../../bson/decode.js';
import { compileMatcher } from '../../query/matcher.js';
import { compileProjection } from '../../query/projection.js';
import { encodeDocument } from '../../bson/encode.js';
import { failure } from '../failure.js';
import { entryDocument } from '../oplog/oplog-documents.js';
import type { ShardState } from '../shard-state.js';
import type { Collection } from '../storage/collection.js';
import { visibleBytes } from '../storage/record.js';
import { LATEST } from '../storage/time-key.js';
import type { Query } from './query.js';

const NOW = { time: LATEST, transaction: null };

/**
 * The next documents of a tailable cursor on a capped collection, in natural order.
 * @throws CommandError 2 for a collection that is not capped, and for a sort
 */
export function collectionTail(collection: Collection, query: Query): () => Uint8Array | undefined {
  if (collection.cap === undefined) {
    throw failure.badValue(
      `error processing query: ns=${collection.namespace} planner returned error :: caused by :: tailable ` +
        'cursor requested on non capped collection',
    );
  }
  if (query.sort !== undefined)
    throw failure.badValue(
      'error processing query: planner returned error :: caused by :: invalid sort specified for tailable cursor',
    );
  let last = 0;
  return filtered(query, () => {
    for (const record of collection.records.ascend(last)) {
      last = record.id;
      const bytes = visibleBytes(record, NOW);
      if (bytes !== null) return bytes;
    }
    return undefined;
  });
}

/** The same for the oplog, from its oldest entry on. */
export function oplogTail({ oplog, version }: ShardState, query: Query): () => Uint8Array | undefined {
  let at = oplog.start;
  return filtered(query, () => {
    at = Math.max(at, oplog.start);
    while (at < oplog.end) {
      const [document] = entryDocument(oplog.at(at), version);
      at += 1;
      if (document !== undefined) return document;
    }
    return undefined;
  });
}

function filtered(query: Query, take: () => Uint8Array | undefined): () => Uint8Array | undefined {
  const matches = compileMatcher(query.filter, query.collation, query.variables);
  const project =
    query.projection === undefined || query.projection.size === 0
      ? undefined
      : compileProjection(query.projection, query.filter, query.variables);
  return () => {
    for (let bytes = take(); bytes !== undefined; bytes = take()) {
      const document = decodeDocument(bytes);
      if (matches(document)) return project === undefined ? bytes : encodeDocument(project(document));
    }
    return undefined;
  };
}
