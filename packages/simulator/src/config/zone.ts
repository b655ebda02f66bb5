import type { ObjectId } from 'bson';
import { CommandError } from '../node/command.js';
import { compareKeys, type KeyValues } from './shard-key.js';
import type { Doc } from '../bson/value.js';
import { documentText } from '../bson/text.js';

/** A range of shard keys that is bound to a zone (`config.tags`). */
export interface ZoneRange {
  readonly id: ObjectId;
  readonly namespace: string;
  /** Bounds as the command gave them. */
  readonly minDocument: Doc;
  readonly maxDocument: Doc;
  readonly zone: string;
}

export function zoneMin(range: ZoneRange): KeyValues {
  return [...range.minDocument.values()];
}

export function zoneMax(range: ZoneRange): KeyValues {
  return [...range.maxDocument.values()];
}

/** The zone ranges of all collections, sorted by key within a collection. There may be tens of thousands. */
export class ZoneRanges {
  readonly #ofNamespace = new Map<string, ZoneRange[]>();

  /** Those of a collection in the order of their keys. */
  of(namespace: string): readonly ZoneRange[] {
    return this.#ofNamespace.get(namespace) ?? [];
  }

  /**
   * Adds a range. One with the same bounds moves to another zone and keeps its id.
   * @returns the resulting range
   * @throws CommandError 178 when it overlaps another one
   */
  add(added: ZoneRange): ZoneRange {
    const ranges = this.#ofNamespace.get(added.namespace) ?? [];
    const position = positionOf(ranges, zoneMin(added));
    const at = ranges[position];
    if (at !== undefined && isSame(at, zoneMin(added), zoneMax(added))) {
      const rebound = { ...added, id: at.id };
      ranges[position] = rebound;
      return rebound;
    }
    for (const beside of [ranges[position - 1], at]) if (beside !== undefined) refuseOverlap(added, beside);
    ranges.splice(position, 0, added);
    this.#ofNamespace.set(added.namespace, ranges);
    return added;
  }

  /** Removes the range with these bounds. Undefined when there is none. */
  remove(namespace: string, min: KeyValues, max: KeyValues): ZoneRange | undefined {
    const ranges = this.#ofNamespace.get(namespace) ?? [];
    const position = positionOf(ranges, min);
    const found = ranges[position];
    if (found === undefined || !isSame(found, min, max)) return undefined;
    ranges.splice(position, 1);
    return found;
  }

  /** Removes those of a collection. */
  drop(namespace: string): void {
    this.#ofNamespace.delete(namespace);
  }

  /** True while a range of any collection is bound to the zone. */
  uses(zone: string): boolean {
    return [...this.#ofNamespace.values()].some((ranges) => ranges.some((range) => range.zone === zone));
  }
}

/** Of the first range that starts at the key or above it. */
function positionOf(ranges: readonly ZoneRange[], min: KeyValues): number {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const range = ranges[middle];
    if (range !== undefined && compareKeys(zoneMin(range), min) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isSame(range: ZoneRange, min: KeyValues, max: KeyValues): boolean {
  return compareKeys(zoneMin(range), min) === 0 && compareKeys(zoneMax(range), max) === 0;
}

function refuseOverlap(added: ZoneRange, range: ZoneRange): void {
  if (compareKeys(zoneMin(range), zoneMax(added)) >= 0 || compareKeys(zoneMax(range), zoneMin(added)) <= 0) return;
  const shown = `${documentText(added.minDocument)} -->> ${documentText(added.maxDocument)}`;
  const existing = `${documentText(range.minDocument)} -->> ${documentText(range.maxDocument)}`;
  throw new CommandError(
    178,
    'RangeOverlapConflict',
    `Zone range: [${shown}) is overlapping with existing: [${existing}) on ${range.zone}`,
  );
}
