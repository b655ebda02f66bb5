import {
  cstringEnd,
  elementEnd,
  elementsOf,
  findElement,
  isNamed,
  type NamedElement,
  type RawElement,
  readDocument,
  readString,
} from '../bson/scan.js';
import type { ShardKeyField } from '../bson/shard-key.js';
import { isPlainName, isRelated, type PathChange, pathChanges, pathKey } from './delta-paths.js';
import { isWithinLevels } from './path-stage.js';

/** The changes of consecutive updates of one document that can be replayed exactly, in the server's order. */
export type Changes =
  /** Whole top-level fields with plain names: views of `updatedFields` and `removedFields`, null when empty. */
  | { form: 'fields'; updated: Uint8Array | null; removedFields: Uint8Array | null }
  | Folded
  | { form: 'paths'; changes: PathChange[] };

/** Whole fields, of several updates as of one. */
export interface Folded {
  form: 'folded';
  /** The last value of each field that is set, in the order of their first values. */
  set: Map<string, FieldValue>;
  unset: Set<string>;
  /** Fields that are the last ones afterwards, in this order, whether or not they were there (`diff-delta.ts`). */
  append: Map<string, FieldValue>;
  /** One of them is known to be there already. */
  moves: boolean;
}

/** A field in the bytes of an update. */
export interface FieldValue {
  source: Uint8Array;
  element: NamedElement;
}

/** One or several updates of a document, as one. */
export type Delta = Changes & {
  /** What is kept of the updates. */
  bytes: number;
  /** Keys (`pathKey`) of the removed paths. */
  removed: ReadonlySet<string>;
};

/**
 * Larger updates are re-read instead, or sent one after the other: pipelines have limits of 125 MB in buffers and 16 MB
 * in the command.
 */
export const deltaBytesMax = 4 * 1024 * 1024;
/** Changes at paths. A stage or two for each are far below the servers' limit of 1,000. */
export const deltaStagesMax = 200;
const nothing: ReadonlySet<string> = new Set();

/** The fields of an update description that are read. */
const parts = ['updatedFields', 'removedFields', 'truncatedArrays', 'disambiguatedPaths'] as const;
type Description = Partial<Record<(typeof parts)[number], RawElement>>;

/**
 * The delta of an `updateDescription`, for sources that do not show the diff itself (`diff-delta.ts`). Null when it
 * cannot be replayed exactly: it is too large or too deep, or a server before 6.1 leaves open whether a dot separates a
 * path or belongs to a name.
 */
export function exactDelta(updateDescription: Uint8Array): Delta | null {
  const bytes = updateDescription.length;
  if (bytes > deltaBytesMax) return null;
  const description = describe(updateDescription);
  const view = (element: RawElement | undefined): Uint8Array | null =>
    element === undefined || isEmpty(element) ? null : readDocument(updateDescription, element);
  const updated = view(description.updatedFields);
  const removed = view(description.removedFields);
  const truncated = view(description.truncatedArrays);
  if (removed !== null && updated !== null && isAnySetAndRemoved(updated, removed)) return null;
  const names = removed === null ? [] : [...elementsOf(removed)].map((element) => readString(removed, element));
  if (truncated === null && isPlain(updated) && names.every(isPlainName)) {
    return {
      form: 'fields',
      updated,
      removedFields: removed,
      bytes,
      removed: names.length === 0 ? nothing : new Set(names),
    };
  }
  const { disambiguatedPaths } = description;
  const disambiguated = disambiguatedPaths === undefined ? null : readDocument(updateDescription, disambiguatedPaths);
  const changes = pathChanges({ updated, removed, truncated, disambiguated });
  if (changes === null || changes.length > deltaStagesMax || !changes.every(isWithinLevels)) return null;
  const unset = changes.filter(({ kind }) => kind === 'unset').map(({ path }) => pathKey(path));
  return { form: 'paths', changes, bytes, removed: new Set(unset) };
}

function describe(bytes: Uint8Array): Description {
  const description: Description = {};
  for (let at = 4; bytes[at] !== 0;) {
    const type = bytes[at] ?? 0;
    const nameStart = at + 1;
    const start = cstringEnd(bytes, nameStart) + 1;
    at = elementEnd(bytes, type, start);
    const part = parts.find((name) => isNamed(bytes, nameStart, name));
    if (part !== undefined) description[part] = { type, start, end: at };
  }
  return description;
}

/** An empty document or array is a length and a zero byte. */
function isEmpty({ start, end }: RawElement): boolean {
  return end - start <= 5;
}

function isAnySetAndRemoved(updated: Uint8Array, removed: Uint8Array): boolean {
  for (const element of elementsOf(removed))
    if (findElement(updated, readString(removed, element)) !== null) return true;
  return false;
}

const [dollar, dot] = [0x24, 0x2e];

/** Whether all names of a document are plain. Works on bytes, because nearly all updates take this path. */
export function isPlain(fields: Uint8Array | null): boolean {
  if (fields === null) return true;
  for (let at = 4; fields[at] !== 0;) {
    const nameEnd = plainNameEnd(fields, at + 1);
    if (nameEnd === null) return false;
    at = elementEnd(fields, fields[at] ?? 0, nameEnd + 1);
  }
  return true;
}

/** Position of the zero byte after a plain name; null for other names. */
function plainNameEnd(bytes: Uint8Array, start: number): number | null {
  if (bytes[start] === 0 || bytes[start] === dollar || isNamed(bytes, start, '_id')) return null;
  const end = cstringEnd(bytes, start);
  for (let at = start; at < end; at += 1) if (bytes[at] === dot) return null;
  return end;
}

/** Whether the delta changes a field of the shard key. */
export function touchesKey(delta: Delta, key: readonly ShardKeyField[]): boolean {
  return key.some(({ field }) => field !== '_id' && touchesField(delta, field));
}

function touchesField(delta: Delta, field: string): boolean {
  const path = field.split('.');
  if (delta.form === 'paths') return delta.changes.some((change) => isRelated(change.path, path));
  const [top = field] = path;
  if (delta.form === 'folded') return delta.set.has(top) || delta.unset.has(top) || delta.append.has(top);
  const { updated, removedFields } = delta;
  if (updated !== null && findElement(updated, top) !== null) return true;
  if (removedFields === null) return false;
  for (const element of elementsOf(removedFields)) if (readString(removedFields, element) === top) return true;
  return false;
}

/** The fields that a delta sets and removes. */
export function fieldsOf(delta: Changes & { form: 'fields' | 'folded' }): Folded {
  if (delta.form === 'folded') return delta;
  const { updated, removedFields } = delta;
  const set = new Map<string, FieldValue>();
  const unset = new Set<string>();
  if (updated !== null) for (const element of elementsOf(updated)) set.set(element.name, { source: updated, element });
  if (removedFields !== null)
    for (const element of elementsOf(removedFields)) unset.add(readString(removedFields, element));
  return { form: 'folded', set, unset, append: new Map(), moves: false };
}
