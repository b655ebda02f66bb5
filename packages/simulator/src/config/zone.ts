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

/**
 * Adds a range to those of a collection.
 * @throws CommandError 178 when it overlaps another one
 */
export function withZoneRange(ranges: readonly ZoneRange[], added: ZoneRange): ZoneRange[] {
  const same = (range: ZoneRange): boolean =>
    range.namespace === added.namespace &&
    compareKeys(zoneMin(range), zoneMin(added)) === 0 &&
    compareKeys(zoneMax(range), zoneMax(added)) === 0;
  const others = ranges.filter((range) => !same(range));
  for (const range of others) {
    if (range.namespace !== added.namespace) continue;
    if (compareKeys(zoneMin(range), zoneMax(added)) >= 0 || compareKeys(zoneMax(range), zoneMin(added)) <= 0) continue;
    const shown = `${documentText(added.minDocument)} -->> ${documentText(added.maxDocument)}`;
    const existing = `${documentText(range.minDocument)} -->> ${documentText(range.maxDocument)}`;
    throw new CommandError(
      178,
      'RangeOverlapConflict',
      `Zone range: [${shown}) is overlapping with existing: [${existing}) on ${range.zone}`,
    );
  }
  return [...others, added];
}
