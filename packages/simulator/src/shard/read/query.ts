import type { Collation } from '../../bson/collation.js';
import { decodeDocument } from '../../bson/decode.js';
import { encodeDocument } from '../../bson/encode.js';
import type { Doc, Value } from '../../bson/value.js';
import type { ExpressionContext } from '../../expression/variables.js';
import type { RoutedAccess } from '../../node/command.js';
import { compileMatcher } from '../../query/matcher.js';
import { compileProjection } from '../../query/projection.js';
import { wholeDocumentProjection } from '../../query/whole-document.js';
import { type CompiledSort, compileSortKeys, type SortKey } from '../../query/sort.js';
import type { Collection } from '../storage/collection.js';
import { visibleBytes, type ReadView } from '../storage/record.js';
import { type RecordScan, withRecordId } from './record-scan.js';
import { planScan, type ScanPlan } from './scan-plan.js';

/** The parameters of a find. */
export interface Query {
  readonly filter: Doc;
  readonly sort: Doc | undefined;
  readonly projection: Doc | undefined;
  readonly skip: number;
  /** Infinity for no limit. */
  readonly limit: number;
  readonly hint: Value | undefined;
  /** As given. */
  readonly batchSize?: number | undefined;
  readonly min: Doc | undefined;
  readonly max: Doc | undefined;
  readonly collation: Collation | undefined;
  readonly variables: ExpressionContext;
  /** Of a read that begins at a record or shows the records' numbers. */
  readonly records?: RecordScan | undefined;
}

/** Candidates between two pauses of a search without matches. */
const QUIET_CANDIDATES_MAX = 256;

/**
 * The documents of a query as bytes. Yields `undefined` now and then during a search without matches, so that the
 * reader can pause.
 * @throws CommandError for filters, hints and bounds that the server refuses, at once and not on the first step
 */
export function queryDocuments(
  collection: Collection,
  query: Query,
  view: ReadView,
  routed: RoutedAccess | undefined,
): Generator<Uint8Array | undefined> {
  const plan = planScan(collection, { ...query, time: view.time });
  const matches = plan.filterDone ? undefined : compileMatcher(query.filter, query.collation, query.variables);
  const project = projectionOf(query);
  const sort = plan.sorted || query.sort === undefined ? undefined : compileSortKeys(query.sort, query.collation);
  const owns = ownership(collection, routed);
  const found = scan(plan, view, matches, owns, query.records);
  const ordered = sort === undefined ? found : sorted(found, sort);
  return windowed(ordered, query.skip, query.limit, withRecordId(query.records, sort !== undefined, project));
}

/** Applies a query's filter, window and projection to documents in their only order. */
export function filteredDocuments(documents: Iterable<Uint8Array>, query: Query): Generator<Uint8Array | undefined> {
  const matches = compileMatcher(query.filter, query.collation, query.variables);
  const project = projectionOf(query);
  return windowed(matching(documents, matches), query.skip, query.limit, project);
}

/** What a query's projection makes of a document's bytes. Undefined without one. */
function projectionOf({ projection, variables }: Query): ((bytes: Uint8Array) => Uint8Array) | undefined {
  if (projection === undefined || projection.size === 0) return undefined;
  const whole = wholeDocumentProjection(projection);
  if (whole !== undefined) return whole;
  const project = compileProjection(projection, variables);
  return (bytes) => encodeDocument(project(decodeDocument(bytes)));
}

function* matching(documents: Iterable<Uint8Array>, matches: (doc: Doc) => boolean): Generator<Uint8Array | undefined> {
  for (const bytes of documents) yield matches(decodeDocument(bytes)) ? bytes : undefined;
}

type Accept = (bytes: Uint8Array) => boolean;

function ownership(collection: Collection, routed: RoutedAccess | undefined): Accept | undefined {
  if (routed === undefined || collection.target.shardKey === undefined) return undefined;
  const { namespace } = collection;
  return (bytes) => routed.owns(namespace, bytes);
}

function* scan(
  plan: ScanPlan,
  view: ReadView,
  matches: ((doc: Doc) => boolean) | undefined,
  owns: Accept | undefined,
  position: RecordScan | undefined,
): Generator<Uint8Array | undefined> {
  let quiet = 0;
  for (const record of position?.from(plan, view) ?? plan.records(view)) {
    const bytes = visibleBytes(record, view);
    if (bytes !== null && position !== undefined) position.seen = record.id;
    if (
      bytes !== null &&
      (owns === undefined || owns(bytes)) &&
      (matches === undefined || matches(decodeDocument(bytes)))
    ) {
      quiet = 0;
      yield bytes;
      continue;
    }
    quiet += 1;
    if (quiet % QUIET_CANDIDATES_MAX === 0) yield undefined;
  }
}

/** Computes the key of every document, even of a single one, because it may be refused. */
function* sorted(found: Iterable<Uint8Array | undefined>, order: CompiledSort): Generator<Uint8Array | undefined> {
  const all: { bytes: Uint8Array; key: SortKey }[] = [];
  for (const bytes of found) {
    if (bytes === undefined) yield undefined;
    else all.push({ bytes, key: order.keyOf(decodeDocument(bytes)) });
  }
  all.sort((a, b) => order.compareKeys(a.key, b.key));
  for (const { bytes } of all) yield bytes;
}

function* windowed(
  found: Iterable<Uint8Array | undefined>,
  skip: number,
  limit: number,
  project: ((bytes: Uint8Array) => Uint8Array) | undefined,
): Generator<Uint8Array | undefined> {
  let seen = 0;
  for (const bytes of found) {
    if (bytes === undefined) {
      yield undefined;
      continue;
    }
    seen += 1;
    if (seen <= skip) continue;
    yield project === undefined ? bytes : project(bytes);
    if (seen - skip >= limit) return;
  }
}
