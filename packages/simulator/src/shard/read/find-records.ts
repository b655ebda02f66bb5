import type { Collation } from '../../bson/collation.js';
import { decodeDocument } from '../../bson/decode.js';
import type { Doc, Value } from '../../bson/value.js';
import type { ExpressionContext } from '../../expression/variables.js';
import { compileMatcher, type Matcher } from '../../query/matcher.js';
import { compileSortKeys } from '../../query/sort.js';
import type { Collection } from '../storage/collection.js';
import { visibleBytes, type DocumentRecord, type ReadView } from '../storage/record.js';
import { planScan } from './scan-plan.js';

/** A document that a write statement matched. */
export interface MatchedRecord {
  readonly record: DocumentRecord;
  readonly bytes: Uint8Array;
}

/** The documents that match a write's filter, one by one. Throws CommandError for a filter the server refuses. */
export function* matchedRecords(
  collection: Collection,
  filter: Doc,
  view: ReadView,
  options: { hint: Value | undefined; sort: Doc | undefined; collation: Collation | undefined; variables: ExpressionContext | undefined },
): Generator<MatchedRecord> {
  const plan = planScan(collection, {
    filter,
    sort: options.sort,
    hint: options.hint,
    min: undefined,
    max: undefined,
    collation: options.collation,
  });
  const matches = plan.filterDone ? undefined : compileMatcher(filter, options.collation, options.variables);
  const found = matchesIn(plan.records(view), view, matches);
  if (options.sort === undefined || plan.sorted) yield* found;
  else yield* inOrder(found, options.sort, options.collation);
}

function* matchesIn(records: Iterable<DocumentRecord>, view: ReadView, matches: Matcher | undefined): Generator<MatchedRecord> {
  for (const record of records) {
    const bytes = visibleBytes(record, view);
    if (bytes !== null && (matches === undefined || matches(decodeDocument(bytes)))) yield { record, bytes };
  }
}

function inOrder(found: Iterable<MatchedRecord>, sort: Doc, collation: Collation | undefined): MatchedRecord[] {
  const order = compileSortKeys(sort, collation);
  const keyed = [...found].map((match) => ({ match, key: order.keyOf(decodeDocument(match.bytes)) }));
  return keyed.sort((a, b) => order.compareKeys(a.key, b.key)).map(({ match }) => match);
}
