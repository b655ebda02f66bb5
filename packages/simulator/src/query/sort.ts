import type { Collation } from '../bson/collation.js';
import { compareValues } from '../bson/compare.js';
import { isNumber, toNumber } from '../bson/exact-number.js';
import { valueText } from '../bson/text.js';
import type { Doc, Value } from '../bson/value.js';
import { CommandError } from '../node/command.js';
import { type Path, splitPath } from './document-path.js';
import { keyRows } from './key-rows.js';
import { badValue, located } from './query-error.js';

interface SortField {
  path: Path;
  descending: boolean;
}

/** One value per field of a sort, as `keyOf` returns them. */
export type SortKey = readonly Value[];

/** A compiled sort. Callers may store keys next to documents and compare the keys alone. */
export interface CompiledSort {
  keyOf(doc: Doc): SortKey;
  compareKeys(a: SortKey, b: SortKey): number;
}

/**
 * Compares documents in the order of a sort specification. 0 leaves their order.
 * @throws CommandError for values other than 1 and -1
 */
export function compileSort(spec: Doc, collation?: Collation): (a: Doc, b: Doc) => number {
  const sort = compileSortKeys(spec, collation);
  return (a, b) => sort.compareKeys(sort.keyOf(a), sort.keyOf(b));
}

/** As `compileSort`, with one key per document. */
export function compileSortKeys(spec: Doc, collation?: Collation): CompiledSort {
  const fields = [...spec]
    .filter(([, direction]) => !(direction instanceof Map))
    .map(([name, direction]) => sortField(name, direction));
  return {
    keyOf: (doc) => firstKey(doc, fields, collation),
    compareKeys: (a, b) => compareKeys(a, b, fields, collation),
  };
}

/** Documents sorted by a specification, stable, keys taken once. */
export function sortDocuments(docs: Iterable<Doc>, spec: Doc, collation?: Collation): Doc[] {
  const sort = compileSortKeys(spec, collation);
  return [...docs]
    .map((doc) => ({ doc, key: sort.keyOf(doc) }))
    .sort((a, b) => sort.compareKeys(a.key, b.key))
    .map(({ doc }) => doc);
}

function sortField(name: string, direction: Value): SortField {
  if (name === '') throw badValue('FieldPath cannot be constructed with empty string');
  if (!isNumber(direction))
    throw located(15974, `Illegal key in $sort specification: ${name}: ${valueText(direction)}`);
  const number = toNumber(direction);
  if (number !== 1 && number !== -1)
    throw located(15975, '$sort key ordering must be 1 (for ascending) or -1 (for descending)');
  return { path: splitPath(name), descending: number === -1 };
}

/** The first of the keys in an index with the order of the sort. An empty array is below null. */
function firstKey(doc: Doc, fields: readonly SortField[], collation: Collation | undefined): SortKey {
  const direct: (Value | undefined)[] = fields.map(({ path }) => (path.length === 1 ? doc.get(path[0] ?? '') : []));
  if (!direct.some(Array.isArray)) return direct.map((value) => value ?? null);
  const rows = parallelRefused(() =>
    keyRows(
      doc,
      fields.map(({ path }) => path),
    ),
  );
  const keys = rows.map((row): SortKey => row.map((value) => value ?? null));
  return keys.reduce((first, key) => (compareKeys(key, first, fields, collation) < 0 ? key : first));
}

function compareKeys(a: SortKey, b: SortKey, fields: readonly SortField[], collation: Collation | undefined): number {
  for (const [index, { descending }] of fields.entries()) {
    const order = compareValues(a[index] ?? null, b[index] ?? null, collation);
    if (order !== 0) return descending ? -order : order;
  }
  return 0;
}

function parallelRefused<Rows>(make: () => Rows): Rows {
  try {
    return make();
  } catch (error) {
    if (error instanceof CommandError && error.code === 171)
      throw badValue('cannot sort with keys that are parallel arrays');
    throw error;
  }
}
