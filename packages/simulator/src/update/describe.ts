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

/** Parts of a path: names as texts, array indexes as ints. */
type PathParts = readonly (string | Int32)[];

/**
 * The server's oplog notation of an update.
 * @param operators the update's operators; absent for a pipeline, whose effect the server finds by comparing
 * @returns undefined when the server logs the whole new document instead
 */
export function updateDiff(before: Doc, after: Doc, operators?: Doc): Diff | undefined {
  return operators === undefined ? computeDiff(before, after) : operatorDiff(before, after, operators);
}

/**
 * The description of an update in a change event.
 * @param operators the update's operators; absent for a pipeline, whose effect the server finds by comparing
 * @returns 'replacement' when the server logs the whole new document instead
 */
export function describeUpdate(before: Doc, after: Doc, operators?: Doc): UpdateDescription | 'replacement' {
  const diff = updateDiff(before, after, operators);
  return diff === undefined ? 'replacement' : describeDiff(diff);
}

/** The description of a difference. */
export function describeDiff(diff: Diff): UpdateDescription {
  const description: UpdateDescription = { updatedFields: new Map(), removedFields: [], truncatedArrays: [] };
  describeDocument(diff, '', description);
  return description;
}

/**
 * The parts of every path whose dotted form is ambiguous: names with a dot, and numeric names below the top level that
 * are no array indexes (`disambiguatedPaths`, since 6.1).
 */
export function disambiguatedPaths(diff: Diff): Doc {
  const paths: Doc = new Map();
  eachPath(diff, [], (parts) => {
    if (parts.some((part, depth) => typeof part === 'string' && isAmbiguous(part, depth)))
      paths.set(parts.map(String).join('.'), [...parts]);
  });
  return paths;
}

function isAmbiguous(name: string, depth: number): boolean {
  return name.includes('.') || (depth > 0 && /^(0|[1-9]\d*)$/.test(name));
}

function eachPath(diff: Diff, parts: PathParts, visit: (parts: PathParts) => void): void {
  if (diff.get('a') === true) {
    for (const [key, part] of diff) {
      if (key === 'l') visit(parts);
      else if (key !== 'a') eachInner(key, part, [...parts, new Int32(Number(key.slice(1)))], visit);
    }
    return;
  }
  for (const [key, part] of diff) {
    if (!(part instanceof Map)) continue;
    if (key === 'd' || key === 'u' || key === 'i' || key === 'b')
      for (const name of part.keys()) visit([...parts, name]);
    else eachPath(part, [...parts, key.slice(1)], visit);
  }
}

function eachInner(key: string, part: Value, parts: PathParts, visit: (parts: PathParts) => void): void {
  if (key.startsWith('s') && part instanceof Map) eachPath(part, parts, visit);
  else visit(parts);
}

function describeDocument(diff: Diff, prefix: string, description: UpdateDescription): void {
  if (diff.get('a') === true) {
    describeArray(diff, prefix, description);
    return;
  }
  for (const [key, part] of diff) {
    if (!(part instanceof Map)) continue;
    if (key === 'd') description.removedFields.push(...[...part.keys()].map((name) => prefix + name));
    // A change of binary data (`b`) stands there as a value (server source of 8.0).
    else if (key === 'u' || key === 'i' || key === 'b')
      for (const [name, value] of part) description.updatedFields.set(prefix + name, value);
    else describeDocument(part, `${prefix}${key.slice(1)}.`, description);
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
  if (key.startsWith('s') && part instanceof Map) describeDocument(part, `${path}.`, description);
  else description.updatedFields.set(path, part);
}
