import { elementType } from '../bson/element-type.js';
import {
  elementsOf,
  findElement,
  rawValue,
  type RawValue,
  readDocument,
  readNumber,
  readString,
} from '../bson/scan.js';

/** A field's name, or an array's index. */
export type PathPart = string | number;

/** One change at one path of a document. */
export interface PathChange {
  path: readonly PathPart[];
  /** `append` puts a field behind all others, whether or not it was there. */
  kind: 'set' | 'unset' | 'truncate' | 'append';
  /** For `set` and `append`. */
  value?: RawValue;
  /** For `truncate`: the number of elements that stay. */
  newSize?: number;
}

/** The parts of an update description; empty ones are null. */
interface DescriptionParts {
  updated: Uint8Array | null;
  removed: Uint8Array | null;
  truncated: Uint8Array | null;
  /** From 6.1: the components of ambiguous paths, by path. Null on older servers. */
  disambiguated: Uint8Array | null;
}

/** A component below the top level with this form is an index, unless `disambiguatedPaths` says otherwise. */
const indexText = /^(0|[1-9]\d*)$/;

/**
 * The changes in the order in which a server makes them; null when a path is ambiguous. Two paths with the same text
 * (the field `b.0`, and `0` in `b`) are ambiguous too, since `disambiguatedPaths` names paths by text.
 */
export function pathChanges({ updated, removed, truncated, disambiguated }: DescriptionParts): PathChange[] | null {
  const changes: PathChange[] = [];
  const texts = new Set<string>();
  const add = (text: string, change: Omit<PathChange, 'path'>): boolean => {
    const path = pathOf(text, disambiguated);
    if (path === null || texts.has(text)) return false;
    texts.add(text);
    changes.push({ path, ...change });
    return true;
  };
  if (updated !== null) {
    for (const element of elementsOf(updated))
      if (!add(element.name, { kind: 'set', value: rawValue(updated, element) })) return null;
  }
  if (truncated !== null) {
    for (const element of elementsOf(truncated)) {
      const { field, newSize } = truncation(readDocument(truncated, element));
      if (!add(field, { kind: 'truncate', newSize })) return null;
    }
  }
  if (removed !== null) {
    for (const element of elementsOf(removed)) if (!add(readString(removed, element), { kind: 'unset' })) return null;
  }
  return changes.every(isMade) ? changes : null;
}

/** False for changes that servers never make: to an `_id`, or the removal of an array element. */
export function isMade({ path, kind }: PathChange): boolean {
  return path[0] !== '_id' && (kind !== 'unset' || typeof path.at(-1) === 'string');
}

function truncation(bytes: Uint8Array): { field: string; newSize: number } {
  const field = findElement(bytes, 'field');
  const newSize = findElement(bytes, 'newSize');
  if (field === null || newSize === null) throw new RangeError('a truncated array without field or size');
  return { field: readString(bytes, field), newSize: readNumber(bytes, newSize) };
}

function pathOf(text: string, disambiguated: Uint8Array | null): PathPart[] | null {
  if (disambiguated === null) return text.includes('.') ? null : [text];
  const stated = findElement(disambiguated, text);
  if (stated === null)
    return text.split('.').map((part, depth) => (depth > 0 && indexText.test(part) ? Number(part) : part));
  const parts = readDocument(disambiguated, stated);
  return [...elementsOf(parts)].map((part) =>
    part.type === elementType.string ? readString(parts, part) : readNumber(parts, part),
  );
}

/** A path as one string; names contain no zero byte. A name and an index with the same text have the same key. */
export function pathKey(path: readonly PathPart[]): string {
  return path.join('\0');
}

/** Whether two paths are the same, names as names and indexes as indexes. */
export function pathsEqual(one: readonly PathPart[], other: readonly PathPart[]): boolean {
  return one.length === other.length && one.every((part, depth) => part === other[depth]);
}

/** Whether one path is the other, or leads to it. A name and an index with the same text count as the same. */
export function isRelated(one: readonly PathPart[], other: readonly PathPart[]): boolean {
  const common = Math.min(one.length, other.length);
  for (let depth = 0; depth < common; depth += 1) if (String(one[depth]) !== String(other[depth])) return false;
  return true;
}

/** Whether a path is the other or leads into it. */
export function isWithin(path: readonly PathPart[], other: readonly PathPart[]): boolean {
  return path.length >= other.length && isRelated(path, other);
}

/** Names that pipelines accept unquoted: without dots, without leading `$`, not empty, not `_id`. */
export function isPlainName(name: string): boolean {
  return name !== '' && name !== '_id' && !name.startsWith('$') && !name.includes('.');
}

/** Whether pipelines accept the change's whole path unquoted. */
export function isPlainPath({ path }: PathChange): boolean {
  return path.every((part) => typeof part === 'string' && isPlainName(part));
}

/** Whether update operators accept its parts with dots between them: an index is one where there is an array. */
export function isOperatorPath({ path }: PathChange): boolean {
  return path.every((part) => typeof part === 'number' || isPlainName(part));
}

/** Whether no change is at the path of another one, or inside of it. */
export function areApart(changes: readonly PathChange[]): boolean {
  if (changes.length < 2) return true;
  // The zero byte between two parts comes before all others: what is inside of a path follows it.
  const keys = changes.map(({ path }) => `${pathKey(path)}\0`).sort();
  return keys.every((key, index) => index === 0 || !key.startsWith(keys[index - 1] ?? ''));
}
