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

/** One change at one place of a document. */
export interface PathChange {
  path: readonly PathPart[];
  kind: 'set' | 'unset' | 'truncate';
  /** Of a set. */
  value?: RawValue;
  /** Of a truncation: elements that stay. */
  newSize?: number;
}

/** The parts of an update description; those that say nothing are null. */
export interface DescriptionParts {
  updated: Uint8Array | null;
  removed: Uint8Array | null;
  truncated: Uint8Array | null;
  /** From 6.1 on: the parts of the paths that could be read in several ways, by path. Null on servers that do not say. */
  disambiguated: Uint8Array | null;
}

/** Numeric below the top level, and not said to be a name: an index. */
const indexText = /^(0|[1-9]\d*)$/;

/**
 * The changes in the order in which a server makes them; null when a path could be read in several ways. That is so also where two
 * places have the same text (the field `b.0`, and `0` in `b`): `disambiguatedPaths` names its parts by text.
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

/** Servers neither change an `_id` nor take elements out of the middle of an array. */
function isMade({ path, kind }: PathChange): boolean {
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

/** A path as one text; names hold no zero byte. A name and an index that read the same are the same here. */
export function pathKey(path: readonly PathPart[]): string {
  return path.join('\0');
}

/** Names that pipelines take as they are: no dots, no `$` in front, not empty, not `_id`. */
export function isPlainName(name: string): boolean {
  return name !== '' && name !== '_id' && !name.startsWith('$') && !name.includes('.');
}

/** Whether pipelines take the change's whole path as it is. */
export function isPlainPath({ path }: PathChange): boolean {
  return path.every((part) => typeof part === 'string' && isPlainName(part));
}

/** Whether the change lies at, above or below a field that is named by the parts of its path. */
export function touchesPath({ path }: PathChange, field: readonly string[]): boolean {
  const common = Math.min(path.length, field.length);
  for (let depth = 0; depth < common; depth += 1) if (path[depth] !== field[depth]) return false;
  return true;
}
