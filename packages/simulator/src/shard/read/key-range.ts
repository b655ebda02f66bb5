import { MaxKey, MinKey } from 'bson';
import type { CollectionIndex, IndexDefinition } from '../storage/collection-index.js';
import { keyText } from '../storage/index-keys.js';
import type { KeyRange } from '../storage/ordered-map.js';
import type { Value } from '../../bson/value.js';
import type { FieldBounds } from './field-bounds.js';

/** Ranges of an index that cover all matches of a filter. */
interface IndexRanges {
  readonly ranges: readonly KeyRange[];
  /** Fields of the index that the ranges use. */
  readonly fieldsUsed: number;
}

/** Limit of point ranges per index. A larger `$in` scans between its ends. */
const POINTS_MAX = 100_000;

/** The ranges of an index for the bounds of a filter. Undefined when its first field has no bounds. */
export function indexRanges(index: CollectionIndex, bounds: ReadonlyMap<string, FieldBounds>): IndexRanges | undefined {
  const { definition } = index;
  const prefix: Value[] = [];
  for (const field of definition.fields) {
    const bound = bounds.get(field.path);
    const [only] = bound?.equals ?? [];
    if (only === undefined || bound?.equals?.length !== 1) {
      return withLastField(index, prefix, bound);
    }
    prefix.push(only);
  }
  return { ranges: [prefixRange(definition, prefix)], fieldsUsed: prefix.length };
}

/**
 * Everything between two keys of an index, as in `min` and `max` of a find: of hashed fields they are hashes. The end
 * is exclusive even when it is omitted: it is then the last possible key.
 * @param isOpen whether an omitted end is none
 */
export function minMaxRange(
  definition: IndexDefinition,
  min: readonly Value[] | undefined,
  max: readonly Value[] | undefined,
  isOpen: boolean,
): KeyRange {
  const { collation } = definition;
  const fields = definition.fields.map((field) => ({ ...field, hashed: false }));
  const end = max ?? fields.map(({ descending }) => (descending ? new MinKey() : new MaxKey()));
  return {
    ...(min === undefined ? {} : { from: keyText(min, fields, collation) }),
    ...(isOpen ? {} : { to: keyText(end, fields, collation) }),
  };
}

function withLastField(
  index: CollectionIndex,
  prefix: readonly Value[],
  bound: FieldBounds | undefined,
): IndexRanges | undefined {
  const { definition } = index;
  const field = definition.fields[prefix.length];
  if (bound?.equals !== undefined && bound.equals.length <= POINTS_MAX) {
    const ranges = bound.equals.map((value) => prefixRange(definition, [...prefix, value]));
    return { ranges: distinct(ranges), fieldsUsed: prefix.length + 1 };
  }
  const ranged = bound?.lower !== undefined || bound?.upper !== undefined;
  if (!ranged || field === undefined || field.hashed || field.descending) {
    return prefix.length === 0 ? undefined : { ranges: [prefixRange(definition, prefix)], fieldsUsed: prefix.length };
  }
  return { ranges: [boundedRange(index, prefix, bound)], fieldsUsed: prefix.length + 1 };
}

/**
 * A multikey index may satisfy the two ends of a range with different array elements, so only one end bounds its scan.
 */
function boundedRange(index: CollectionIndex, prefix: readonly Value[], bound: FieldBounds): KeyRange {
  const { definition } = index;
  const whole = prefix.length === 0 ? {} : prefixRange(definition, prefix);
  const { lower, upper } = bound;
  const lowerKey =
    lower === undefined ? undefined : keyText([...prefix, lower.value], definition.fields, definition.collation);
  const upperKey =
    upper === undefined ? undefined : keyText([...prefix, upper.value], definition.fields, definition.collation);
  const from = lowerKey === undefined || lower?.inclusive === true ? lowerKey : keyAfter(lowerKey);
  const to = upperKey === undefined || upper?.inclusive !== true ? upperKey : keyAfter(upperKey);
  const usesUpper = to !== undefined && !(index.multikey && from !== undefined);
  return { ...whole, ...(from === undefined ? {} : { from }), ...(usesUpper ? { to } : {}) };
}

function prefixRange(definition: IndexDefinition, prefix: readonly Value[]): KeyRange {
  const from = keyText(prefix, definition.fields, definition.collation);
  return { from, to: keyAfter(from) };
}

/** The first key after all keys with the prefix `key`. */
function keyAfter(key: string): string {
  let end = key.length;
  while (end > 0 && key.charCodeAt(end - 1) === 0xff) end -= 1;
  return key.slice(0, end - 1) + String.fromCharCode(key.charCodeAt(end - 1) + 1);
}

function distinct(ranges: readonly KeyRange[]): KeyRange[] {
  const byFrom = new Map(ranges.map((range) => [range.from ?? '', range]));
  return [...byFrom].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, range]) => range);
}
