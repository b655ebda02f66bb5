import { Int32 } from 'bson';
import type { Doc, Value } from '../bson/value.js';
import { computeDiff, type Diff } from './diff.js';
import { operatorDiff } from './operator-diff.js';

/** The `updateDescription` of a change event. Keys are dotted paths, in the server's order. */
export interface UpdateDescription {
  updatedFields: Doc;
  removedFields: string[];
  truncatedArrays: { field: string; newSize: Int32 }[];
}

/**
 * What a change event says about an update.
 * @param operators the update's operators; absent for a pipeline, whose effect the server finds by comparing
 * @returns 'replacement' when the server logs the whole new document instead
 */
export function describeUpdate(before: Doc, after: Doc, operators?: Doc): UpdateDescription | 'replacement' {
  const diff = operators === undefined ? computeDiff(before, after) : operatorDiff(before, after, operators);
  if (diff === undefined) return 'replacement';
  const description: UpdateDescription = { updatedFields: new Map(), removedFields: [], truncatedArrays: [] };
  describeDiff(diff, '', description);
  return description;
}

function describeDiff(diff: Diff, prefix: string, description: UpdateDescription): void {
  if (diff.get('a') === true) {
    describeArray(diff, prefix, description);
    return;
  }
  for (const [key, part] of diff) {
    if (!(part instanceof Map)) continue;
    if (key === 'd') description.removedFields.push(...[...part.keys()].map((name) => prefix + name));
    else if (key === 'u' || key === 'i') for (const [name, value] of part) description.updatedFields.set(prefix + name, value);
    else describeDiff(part, `${prefix}${key.slice(1)}.`, description);
  }
}

function describeArray(diff: Diff, prefix: string, description: UpdateDescription): void {
  for (const [key, part] of diff) {
    if (key === 'a') continue;
    if (key === 'l') description.truncatedArrays.push({ field: prefix.slice(0, -1), newSize: part as Int32 });
    else describeElement(key, part, prefix, description);
  }
}

function describeElement(key: string, part: Value, prefix: string, description: UpdateDescription): void {
  const path = prefix + key.slice(1);
  if (key.startsWith('s') && part instanceof Map) describeDiff(part, `${path}.`, description);
  else description.updatedFields.set(path, part);
}
