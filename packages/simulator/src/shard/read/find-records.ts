import type { Collation } from '../../bson/collation.js';
import { decodeDocument } from '../../bson/decode.js';
import type { Doc, Value } from '../../bson/value.js';
import type { ExpressionContext } from '../../expression/variables.js';
import { compileMatcher, type Matcher } from '../../query/matcher.js';
import { compileSortKeys } from '../../query/sort.js';
import type { RoutedAccess } from '../../node/command.js';
import type { ServerVersion } from '../../node/server-version.js';
import type { Collection } from '../storage/collection.js';
import { visibleBytes, type DocumentRecord, type ReadView } from '../storage/record.js';
import { planScan } from './scan-plan.js';

/** A document that a write statement matched. */
export interface MatchedRecord {
  readonly record: DocumentRecord;
  readonly bytes: Uint8Array;
}

/** How a write finds its documents. */
interface RecordSearch {
  readonly hint: Value | undefined;
  readonly sort: Doc | undefined;
  readonly collation: Collation | undefined;
  readonly variables: ExpressionContext | undefined;
  /** Documents that it skips are not accepted. Undefined skips none. */
  readonly accept?: ((document: Uint8Array) => boolean) | undefined;
}

/**
 * Which documents a write may touch. Until 5.0 a shard writes orphans like any other document (corpus: 13-orphans).
 * Since 6.0 it skips them when a router asks (manual: release notes of 6.0).
 */
export function writable(
  version: ServerVersion,
  collection: Collection,
  routed: RoutedAccess | undefined,
): RecordSearch['accept'] {
  if (routed === undefined || collection.target.shardKey === undefined || !version.atLeast(6, 0)) return undefined;
  return (document) => routed.owns(collection.namespace, document);
}

/** The documents that match a write's filter, one by one. @throws CommandError for a filter the server refuses */
export function* matchedRecords(
  collection: Collection,
  filter: Doc,
  view: ReadView,
  options: RecordSearch,
): Generator<MatchedRecord> {
  const plan = planScan(collection, {
    filter,
    sort: options.sort,
    hint: options.hint,
    min: undefined,
    max: undefined,
    collation: options.collation,
    time: view.time,
    variables: options.variables,
  });
  const matches = plan.filterDone ? undefined : compileMatcher(filter, options.collation, options.variables);
  const found = matchesIn(plan.records(view), view, matches, options.accept);
  if (options.sort === undefined || plan.sorted) yield* found;
  else yield* inOrder(found, options.sort, options.collation);
}

function* matchesIn(
  records: Iterable<DocumentRecord>,
  view: ReadView,
  matches: Matcher | undefined,
  accept: RecordSearch['accept'],
): Generator<MatchedRecord> {
  for (const record of records) {
    const bytes = visibleBytes(record, view);
    if (
      bytes !== null &&
      (accept === undefined || accept(bytes)) &&
      (matches === undefined || matches(decodeDocument(bytes)))
    )
      yield { record, bytes };
  }
}

function inOrder(found: Iterable<MatchedRecord>, sort: Doc, collation: Collation | undefined): MatchedRecord[] {
  const order = compileSortKeys(sort, collation);
  const keyed = [...found].map((match) => ({ match, key: order.keyOf(decodeDocument(match.bytes)) }));
  return keyed.sort((a, b) => order.compareKeys(a.key, b.key)).map(({ match }) => match);
}
