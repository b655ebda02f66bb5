import { BSONSymbol, MaxKey, MinKey } from 'bson';
import type { Collation } from '../../bson/collation.js';
import { compareValues } from '../../bson/compare.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { numberOf } from '../../node/doc-fields.js';
import { databaseOf } from '../../node/namespace.js';
import { isInternalDatabase } from '../../node/user-write-block.js';
import { failure } from '../failure.js';
import { planFailureText, type QuotedQuery } from './plan-failure.js';
import type { Collection } from '../storage/collection.js';
import type { CollectionIndex } from '../storage/collection-index.js';
import type { KeyRange } from '../storage/ordered-map.js';
import type { DocumentRecord, ReadView } from '../storage/record.js';
import type { TimeKey } from '../storage/time-key.js';
import { fieldBounds, type FieldBounds } from './field-bounds.js';
import { indexRanges, minMaxRange } from './key-range.js';

/** The parts of a read that decide its scan. */
export interface ScanRequest extends QuotedQuery {
  readonly filter: Doc;
  readonly sort: Doc | undefined;
  readonly hint: Value | undefined;
  readonly min: Doc | undefined;
  readonly max: Doc | undefined;
  readonly collation: Collation | undefined;
  /** Indexes are those of this time. */
  readonly time: TimeKey;
}

/** The chosen scan of a collection. */
export interface ScanPlan {
  /** The index of the scan. Undefined for a collection scan. */
  readonly index?: CollectionIndex;
  /** Candidates. The filter still applies unless `filterDone`. @param behindId of a collection scan: begins after it */
  readonly records: (view: ReadView, behindId?: number) => Iterable<DocumentRecord>;
  /** True when the candidates come in the order of `sort`. */
  readonly sorted: boolean;
  /** True when every candidate matches the filter. */
  readonly filterDone: boolean;
}

/** Chooses how to find the documents of a read. @throws CommandError for hints and bounds that fit no index */
export function planScan(collection: Collection, request: ScanRequest): ScanPlan {
  const natural = naturalDirection(request);
  if (natural !== undefined) return naturalScan(collection, natural, request);
  if (request.min !== undefined || request.max !== undefined) return minMaxScan(collection, request);
  const usable = usableBounds(collection, request);
  const bounds = collection.options.has('clusteredIndex') ? withoutPoints(usable, request) : usable;
  if (request.hint !== undefined) return hintedScan(collection, request.hint, bounds, request);
  const chosen = bestIndex(collection, bounds, request);
  if (chosen === undefined) refuseScan(collection, request);
  return chosen === undefined ? naturalScan(collection, 1, request) : indexScan(chosen, bounds, request);
}

/** @throws CommandError 291 for conditions that no index serves, where servers want one (`notablescan`) */
function refuseScan(collection: Collection, request: ScanRequest): void {
  if (!collection.scans.refused || request.filter.size === 0 || isInternalDatabase(databaseOf(collection.namespace)))
    return;
  const cause = "No indexed plans available, and running with 'notablescan' 2";
  throw new CommandError(291, 'NoQueryExecutionPlans', planFailureText(collection, request, cause));
}

/** An index with a description only leaves the scan to the collection. */
function hintedScan(
  collection: Collection,
  hint: Value,
  bounds: ReadonlyMap<string, FieldBounds>,
  request: ScanRequest,
): ScanPlan {
  const index = hintedIndex(collection, hint, request);
  return index.definition.built ? indexScan(index, bounds, request) : naturalScan(collection, 1, request);
}

function naturalDirection(request: ScanRequest): 1 | -1 | undefined {
  const hinted = request.hint instanceof Map ? request.hint.get('$natural') : undefined;
  const wanted = hinted ?? request.sort?.get('$natural');
  if (wanted === undefined) return undefined;
  return (numberOf(wanted) ?? 1) < 0 ? -1 : 1;
}

function naturalScan(collection: Collection, direction: 1 | -1, request: ScanRequest): ScanPlan {
  return {
    records: (view, behindId) => naturalRecords(collection, direction, view, behindId),
    sorted: request.sort === undefined || request.sort.has('$natural'),
    filterDone: request.filter.size === 0,
  };
}

/** A clustered collection is stored in the order of `_id`. */
function naturalRecords(
  collection: Collection,
  direction: 1 | -1,
  view: ReadView,
  behindId?: number,
): Iterable<DocumentRecord> {
  if (collection.options.has('clusteredIndex')) return collection.idIndex.scan({}, view, direction === -1);
  return direction === 1 ? collection.records.ascend(behindId) : collection.records.descend();
}

function minMaxScan(collection: Collection, request: ScanRequest): ScanPlan {
  if (request.hint === undefined) {
    throw new CommandError(
      51173,
      'Location51173',
      planFailureText(collection, request, 'When using min()/max() a hint of which index to use must be provided'),
    );
  }
  const index = hintedIndex(collection, request.hint, request);
  const { fields } = index.definition;
  // Scans of a clustered collection have no bound that nobody has named (server source: handleRIDRangeMinMax).
  const isOpen = request.max === undefined && index === collection.idIndex && collection.options.has('clusteredIndex');
  const range = minMaxRange(
    index.definition,
    boundValues(collection, request, fields, request.min),
    boundValues(collection, request, fields, request.max),
    isOpen,
  );
  if (
    (!isOpen && isEmpty(fields, request)) ||
    (range.from !== undefined && range.to !== undefined && range.from >= range.to)
  ) {
    throw new CommandError(
      51175,
      'Location51175',
      planFailureText(
        collection,
        request,
        'The value provided for min() does not come before the value provided for max() in the hinted index',
      ),
    );
  }
  return rangesPlan(index, [range], request, request.filter.size === 0);
}

/** Whether the bounds are empty. An omitted one is the lowest or highest key. */
function isEmpty(fields: readonly { descending: boolean }[], { min, max }: ScanRequest): boolean {
  if (fields.some(({ descending }) => descending)) return false;
  const order = [...(min?.values() ?? fields.map(() => new MinKey()))];
  const end = [...(max?.values() ?? fields.map(() => new MaxKey()))];
  for (const [at, value] of order.entries()) {
    const compared = compareValues(value, end[at] ?? null);
    if (compared !== 0) return compared > 0;
  }
  return true;
}

function boundValues(
  collection: Collection,
  request: ScanRequest,
  fields: readonly { path: string }[],
  bound: Doc | undefined,
): Value[] | undefined {
  if (bound === undefined) return undefined;
  const names = [...bound.keys()];
  if (names.length !== fields.length || names.some((name, at) => name !== fields[at]?.path)) {
    throw new CommandError(
      51174,
      'Location51174',
      planFailureText(collection, request, 'The index chosen is not compatible with min/max'),
    );
  }
  return [...bound.values()];
}

function hintedIndex(collection: Collection, hint: Value, request: ScanRequest): CollectionIndex {
  const wanted = typeof hint === 'string' ? hint : undefined;
  const found = collection.indexesAt(request.time).find((index) => {
    if (index === collection.idIndex && !takesClusterHint(collection, request)) return false;
    if (wanted !== undefined) return index.definition.name === wanted;
    return hint instanceof Map && samePattern(index, hint);
  });
  if (found === undefined || found.definition.spec.get('hidden') === true) {
    throw failure.badValue(
      planFailureText(collection, request, 'hint provided does not correspond to an existing index'),
    );
  }
  return found;
}

/** Until 5.2 no hint names the order of a collection of buckets. */
function takesClusterHint({ options }: Collection, { variables }: ScanRequest): boolean {
  return options.get('clusteredIndex') !== true || variables?.version?.atLeast(6, 0) !== false;
}

function samePattern(index: CollectionIndex, pattern: Doc): boolean {
  const { fields } = index.definition;
  const wanted = [...pattern];
  return (
    wanted.length === fields.length &&
    wanted.every(([path, order], at) => {
      const field = fields[at];
      if (field?.path !== path) return false;
      return order === 'hashed' ? field.hashed : !field.hashed && (numberOf(order) ?? 1) < 0 === field.descending;
    })
  );
}

/**
 * Bounds on strings do not apply to an index of another collation. Keys under a collation find equal strings but do not
 * order them, so they do not serve ranges of strings either.
 */
function usableBounds(collection: Collection, request: ScanRequest): Map<string, FieldBounds> {
  const bounds = fieldBounds(request.filter);
  if (request.collation === undefined && collection.collation === undefined) return bounds;
  const same = sameCollation(request.collation, collection.collation);
  for (const [path, bound] of bounds) {
    const limits = [bound.lower?.value, bound.upper?.value];
    const values = same ? limits : [...(bound.equals ?? []), ...limits];
    if (values.some(mayHoldStrings)) bounds.delete(path);
  }
  return bounds;
}

function sameCollation(one: Collation | undefined, other: Collation | undefined): boolean {
  return one?.locale === other?.locale && one?.strength === other?.strength;
}

function mayHoldStrings(value: Value | undefined): boolean {
  return typeof value === 'string' || value instanceof BSONSymbol || value instanceof Map || Array.isArray(value);
}

function bestIndex(
  collection: Collection,
  bounds: ReadonlyMap<string, FieldBounds>,
  request: ScanRequest,
): CollectionIndex | undefined {
  let best: { index: CollectionIndex; fieldsUsed: number } | undefined;
  for (const index of collection.indexesAt(request.time)) {
    const { definition } = index;
    if (
      !definition.built ||
      definition.spec.get('hidden') === true ||
      definition.sparse ||
      definition.holds !== undefined
    )
      continue;
    if (!sameCollation(definition.collation, collection.collation)) continue;
    const fieldsUsed = indexRanges(index, bounds)?.fieldsUsed ?? 0;
    const useful = fieldsUsed > 0 || sortDirection(index, request) !== undefined;
    if (useful && (best === undefined || fieldsUsed > best.fieldsUsed)) best = { index, fieldsUsed };
    if (index === collection.idIndex && fieldsUsed > 0) return index;
  }
  return best?.index;
}

function indexScan(index: CollectionIndex, bounds: ReadonlyMap<string, FieldBounds>, request: ScanRequest): ScanPlan {
  const ranges = indexRanges(index, bounds);
  return rangesPlan(
    index,
    ranges?.ranges ?? [{}],
    request,
    request.filter.size === 0 || pointsDecide(index, bounds, request.filter),
  );
}

/**
 * Several ids are no points of a clustered scan, which reads from the least to the greatest of them, and before 6.0 the
 * whole collection (server source: `handleRIDRangeScan`).
 */
function withoutPoints(
  bounds: ReadonlyMap<string, FieldBounds>,
  { variables }: ScanRequest,
): ReadonlyMap<string, FieldBounds> {
  const { equals = [], ...ofIds } = bounds.get('_id') ?? { exact: false };
  if (equals.length < 2) return bounds;
  if (variables?.version?.atLeast(6, 0) === false) return new Map([...bounds].filter(([path]) => path !== '_id'));
  const inOrder = [...equals].sort((a, b) => compareValues(a, b));
  const bound = (at: number) => ({ value: inOrder.at(at) ?? null, inclusive: true });
  const range: FieldBounds = { ...ofIds, lower: bound(0), upper: bound(-1), exact: false };
  return new Map([...bounds, ['_id', range]]);
}

/** True when the filter asks only for certain values of the index's single field, so that a found key is a match. */
function pointsDecide(index: CollectionIndex, bounds: ReadonlyMap<string, FieldBounds>, filter: Doc): boolean {
  const [field, further] = index.definition.fields;
  if (field?.path !== '_id' || further !== undefined || field.hashed) return false;
  if (filter.size !== 1 || bounds.size !== 1 || !filter.has('_id')) return false;
  const bound = bounds.get('_id');
  return bound?.exact === true && bound.equals !== undefined && bound.lower === undefined && bound.upper === undefined;
}

function rangesPlan(
  index: CollectionIndex,
  ranges: readonly KeyRange[],
  request: ScanRequest,
  filterDone: boolean,
): ScanPlan {
  const direction = sortDirection(index, request);
  const reverse = direction === -1;
  return {
    index,
    records: (view) => scanRanges(index, reverse ? [...ranges].reverse() : ranges, view, reverse),
    sorted: request.sort === undefined || direction !== undefined,
    filterDone,
  };
}

function* scanRanges(
  index: CollectionIndex,
  ranges: readonly KeyRange[],
  view: ReadView,
  reverse: boolean,
): Generator<DocumentRecord> {
  const seen = index.multikey ? new Set<DocumentRecord>() : undefined;
  for (const range of ranges) {
    for (const record of index.scan(range, view, reverse)) {
      if (seen?.has(record) === true) continue;
      seen?.add(record);
      yield record;
    }
  }
}

/**
 * 1 or -1 when scanning the index that way gives the order of the sort. Undefined when it does not, or without a sort.
 */
function sortDirection(index: CollectionIndex, { sort, collation }: ScanRequest): 1 | -1 | undefined {
  if (sort === undefined || sort.size === 0) return sort === undefined ? undefined : 1;
  if (index.multikey || collation !== undefined || index.definition.collation !== undefined) return undefined;
  let direction: 1 | -1 | undefined;
  let at = 0;
  for (const [path, order] of sort) {
    const field = index.definition.fields[at];
    const wanted = numberOf(order);
    if (field?.path !== path || field.hashed || wanted === undefined) return undefined;
    const here = wanted < 0 === field.descending ? 1 : -1;
    if (direction !== undefined && direction !== here) return undefined;
    direction = here;
    at += 1;
  }
  return direction;
}
