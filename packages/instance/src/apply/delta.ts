import { DocumentBuilder } from '../bson/build.js';
import { elementType } from '../bson/element-type.js';
import {
  elementsOf,
  findElement,
  type NamedElement,
  rawValue,
  type RawValue,
  readDocument,
  readString,
} from '../bson/scan.js';
import type { ShardKeyField } from '../bson/shard-key.js';

/** A change of top-level fields that can be replayed exactly, in the server's order. */
export interface Delta {
  set: Map<string, RawValue>;
  unset: Set<string>;
}

/** Beyond this size one update is read anew instead: pipelines have limits of 125 MB in buffers and 16 MB in the command. */
const deltaBytesMax = 4 * 1024 * 1024;

/**
 * The delta of an `updateDescription`, or null when it cannot be replayed exactly: paths with dots (before 6.0 a nested
 * field and a field with a dot in its name look the same), truncated arrays, names that begin with `$` or are empty.
 */
export function exactDelta(updateDescription: Uint8Array): Delta | null {
  if (updateDescription.length > deltaBytesMax) return null;
  if (hasElements(updateDescription, 'truncatedArrays')) return null;
  const set = new Map<string, RawValue>();
  const unset = new Set<string>();
  const updated = findElement(updateDescription, 'updatedFields');
  if (updated !== null) {
    const fields = readDocument(updateDescription, updated);
    for (const element of elementsOf(fields)) {
      if (isInexact(element.name)) return null;
      set.set(element.name, rawValue(fields, element));
    }
  }
  const removed = findElement(updateDescription, 'removedFields');
  if (removed !== null) {
    const names = readDocument(updateDescription, removed);
    for (const element of elementsOf(names)) {
      const name = readString(names, element);
      if (isInexact(name) || set.has(name)) return null;
      unset.add(name);
    }
  }
  return { set, unset };
}

function hasElements(document: Uint8Array, name: string): boolean {
  const element = findElement(document, name);
  if (element === null) return false;
  const first: IteratorResult<NamedElement, void> = elementsOf(readDocument(document, element)).next();
  return first.done !== true;
}

function isInexact(name: string): boolean {
  return name === '' || name === '_id' || name.startsWith('$') || name.includes('.');
}

/** Whether the delta changes a field that the shard key is made of. */
export function touchesKey(delta: Delta, key: readonly ShardKeyField[]): boolean {
  return key.some(({ field }) => {
    const top = field.split('.', 1)[0] ?? field;
    return top !== '_id' && (delta.set.has(top) || delta.unset.has(top));
  });
}

/**
 * The later delta folded into the earlier one, or null when the result would not be exact: a field that was unset and is
 * set again moves to the end of the document.
 */
export function mergeDeltas(earlier: Delta, later: Delta): Delta | null {
  for (const name of later.set.keys()) if (earlier.unset.has(name)) return null;
  for (const name of later.unset) if (earlier.set.has(name)) return null;
  return {
    set: new Map([...earlier.set, ...later.set]),
    unset: new Set([...earlier.unset, ...later.unset]),
  };
}

/**
 * The delta as an update pipeline: `[{$set: {field: {$literal: value}, …}}, {$unset: [names]}]`.
 * A pipeline's `$set` adds new fields in the order given, while the `$set` operator would sort them by name.
 */
export function deltaPipeline(delta: Delta): Uint8Array {
  const stages: Uint8Array[] = [];
  if (delta.set.size > 0) stages.push(setStage(delta.set));
  if (delta.unset.size > 0) stages.push(unsetStage(delta.unset));
  const builder = new DocumentBuilder();
  stages.forEach((stage, index) => builder.document(String(index), stage));
  return builder.finish();
}

function setStage(fields: ReadonlyMap<string, RawValue>): Uint8Array {
  const builder = new DocumentBuilder().begin('$set');
  for (const [name, value] of fields) builder.begin(name).raw('$literal', value).end();
  return builder.end().finish();
}

function unsetStage(names: ReadonlySet<string>): Uint8Array {
  const builder = new DocumentBuilder().begin('$unset', elementType.array);
  [...names].forEach((name, index) => builder.string(String(index), name));
  return builder.end().finish();
}
