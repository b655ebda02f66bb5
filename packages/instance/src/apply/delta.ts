import { elementType } from '../bson/element-type.js';
import {
  cstringEnd,
  elementEnd,
  elementsOf,
  findElement,
  isNamed,
  type NamedElement,
  type RawElement,
  rawValue,
  readDocument,
  readNumber,
  readString,
} from '../bson/scan.js';
import type { ShardKeyField } from '../bson/shard-key.js';
import { isMade, isPlainName, isRelated, type PathChange, pathChanges, pathKey, type PathPart } from './delta-paths.js';
import { isWithinLevels } from './path-stage.js';

/** The changes of consecutive updates of one document that can be replayed exactly, in the server's order. */
type Changes =
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
  /** Fields that are the last ones afterwards, in this order, whether or not they were there. */
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
  /** What it sets, beside what it appends, is there already, or an element of an array: it is made of diffs. */
  setsPresent: boolean;
};

/**
 * Larger updates are re-read instead, or sent one after the other: pipelines have limits of 125 MB in buffers and 16 MB
 * in the command.
 */
export const deltaBytesMax = 4 * 1024 * 1024;

/** Changes at paths. A stage or two for each are far below the servers' limit of 1,000. */
export const deltaStagesMax = 200;

const nothing: ReadonlySet<string> = new Set();

/** The only version of the notation that has a diff; it comes first. */
const versionField = '$v';

const diffVersion = 2;

/** Bytes before the first field's name in a document: the length, and the field's type. */
const firstNameAt = 5;

/**
 * The delta of an update as its event describes it: by the oplog's diff (`rawUpdateDescription`, sources from 6.0 on)
 * or by paths (`updateDescription`).
 * @returns null when it cannot be replayed exactly
 */
export function deltaOf(description: Uint8Array): Delta | null {
  if (description.length > deltaBytesMax) return null;
  return isNamed(description, firstNameAt, versionField) ? diffDelta(description) : exactDelta(description);
}

/**
 * The delta of `{$v: 2, diff}`. A document's diff has the sections `d` (removed: `{name: false}`), `u` (new values of
 * fields that keep their places), `i` (fields that come last, in this order; one that was there moves) and `s<name>`
 * (the diff of a field's value). An array's is `{a: true, l?: its new length, u<index>: value, s<index>: diff}`. So
 * nothing is ambiguous, neither places nor names with dots (server, `db/update/document_diff_applier.cpp`).
 *
 * Null for what is too large or too deep, and for sections of a later notation.
 */
function diffDelta(description: Uint8Array): Delta | null {
  const bytes = description.length;
  const version = findElement(description, versionField);
  const element = findElement(description, 'diff');
  if (version === null || element?.type !== elementType.document) return null;
  if (readNumber(description, version) !== diffVersion) return null;
  const diff = readDocument(description, element);
  const updated = onlyUpdates(diff);
  if (updated !== null && isPlain(updated))
    return { form: 'fields', updated, removedFields: null, bytes, removed: nothing, setsPresent: true };
  const folded = wholeFields(diff);
  if (folded !== null) return { ...folded, bytes, removed: folded.unset, setsPresent: true };
  const changes = new DiffChanges().of(diff);
  if (changes === null || changes.length > deltaStagesMax) return null;
  if (!changes.every(isMade) || !changes.every(isWithinLevels)) return null;
  const unset = changes.filter(({ kind }) => kind === 'unset').map(({ path }) => pathKey(path));
  return { form: 'paths', changes, bytes, removed: new Set(unset), setsPresent: true };
}

/** The section of a diff that only gives fields new values, as nearly all diffs do. */
function onlyUpdates(diff: Uint8Array): Uint8Array | null {
  const element = findElement(diff, 'u');
  if (element?.type !== elementType.document || element.end !== diff.length - 1) return null;
  return isNamed(diff, firstNameAt, 'u') ? readDocument(diff, element) : null;
}

/** Null when the diff reaches into fields, or has names that pipelines do not take. */
function wholeFields(diff: Uint8Array): Folded | null {
  const folded: Folded = { form: 'folded', set: new Map(), unset: new Set(), append: new Map(), moves: false };
  for (const section of elementsOf(diff)) {
    if (section.type !== elementType.document) return null;
    const source = readDocument(diff, section);
    for (const element of elementsOf(source)) {
      const { name } = element;
      if (!isPlainName(name)) return null;
      if (section.name === 'd') folded.unset.add(name);
      else if (section.name === 'u') folded.set.set(name, { source, element });
      else if (section.name === 'i') folded.append.set(name, { source, element });
      else return null;
    }
  }
  return folded;
}

const indexedChange = /^[us](0|[1-9]\d*)$/;

/** Collects the changes of a diff. Their order matters only among those appended to one document. */
class DiffChanges {
  readonly #set: PathChange[] = [];
  readonly #unset: PathChange[] = [];
  readonly #append: PathChange[] = [];

  /** Null for a diff that this release does not know. */
  of(diff: Uint8Array): PathChange[] | null {
    return this.#document(diff, []) ? [...this.#set, ...this.#unset, ...this.#append] : null;
  }

  #document(diff: Uint8Array, at: readonly PathPart[]): boolean {
    for (const section of elementsOf(diff)) {
      if (section.type !== elementType.document) return false;
      const part = readDocument(diff, section);
      const isKnown = section.name.startsWith('s')
        ? this.#inner(part, [...at, section.name.slice(1)])
        : this.#fields(section.name, part, at);
      if (!isKnown) return false;
    }
    return true;
  }

  #fields(section: string, fields: Uint8Array, at: readonly PathPart[]): boolean {
    if (section !== 'd' && section !== 'u' && section !== 'i') return false;
    for (const element of elementsOf(fields)) {
      const path = [...at, element.name];
      if (section === 'd') this.#unset.push({ path, kind: 'unset' });
      else if (section === 'u') this.#set.push({ path, kind: 'set', value: rawValue(fields, element) });
      else this.#append.push({ path, kind: 'append', value: rawValue(fields, element) });
    }
    return true;
  }

  /** The diff of a value: an array's begins with `a`. */
  #inner(diff: Uint8Array, at: readonly PathPart[]): boolean {
    return isNamed(diff, firstNameAt, 'a') ? this.#array(diff, at) : this.#document(diff, at);
  }

  #array(diff: Uint8Array, at: readonly PathPart[]): boolean {
    for (const element of elementsOf(diff)) {
      const { name } = element;
      if (name === 'a') continue;
      if (name === 'l') {
        this.#set.push({ path: at, kind: 'truncate', newSize: readNumber(diff, element) });
        continue;
      }
      if (!indexedChange.test(name)) return false;
      const path = [...at, Number(name.slice(1))];
      if (name.startsWith('u')) this.#set.push({ path, kind: 'set', value: rawValue(diff, element) });
      else if (element.type !== elementType.document || !this.#inner(readDocument(diff, element), path)) return false;
    }
    return true;
  }
}

/** The fields of an update description that are read. */
const parts = ['updatedFields', 'removedFields', 'truncatedArrays', 'disambiguatedPaths'] as const;

type Description = Partial<Record<(typeof parts)[number], RawElement>>;

/**
 * The delta of an `updateDescription`, for sources that do not show the diff itself. Null when it
 * cannot be replayed exactly: it is too large or too deep, or a server before 6.1 leaves open whether a dot separates a
 * path or belongs to a name.
 */
function exactDelta(updateDescription: Uint8Array): Delta | null {
  const bytes = updateDescription.length;
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
      setsPresent: false,
    };
  }
  const { disambiguatedPaths } = description;
  const disambiguated = disambiguatedPaths === undefined ? null : readDocument(updateDescription, disambiguatedPaths);
  const changes = pathChanges({ updated, removed, truncated, disambiguated });
  if (changes === null || changes.length > deltaStagesMax || !changes.every(isWithinLevels)) return null;
  const unset = changes.filter(({ kind }) => kind === 'unset').map(({ path }) => pathKey(path));
  return { form: 'paths', changes, bytes, removed: new Set(unset), setsPresent: false };
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
function isPlain(fields: Uint8Array | null): boolean {
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
