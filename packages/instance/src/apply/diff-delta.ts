import { elementType } from '../bson/element-type.js';
import { elementsOf, findElement, isNamed, rawValue, readDocument, readNumber } from '../bson/scan.js';
import { type Delta, deltaBytesMax, deltaStagesMax, exactDelta, type Folded, isPlain } from './delta.js';
import { isMade, isPlainName, type PathChange, pathKey, type PathPart } from './delta-paths.js';
import { isWithinLevels } from './path-stage.js';

/** The only version of the notation that has a diff; it comes first. */
const versionField = '$v';
const diffVersion = 2;
/** Bytes before the first field's name in a document: the length, and the field's type. */
const firstNameAt = 5;
const nothing: ReadonlySet<string> = new Set();

/**
 * The delta of an update as its event describes it: by the oplog's diff (`rawUpdateDescription`, sources from 6.0 on)
 * or by paths (`updateDescription`).
 * @returns null when it cannot be replayed exactly
 */
export function deltaOf(description: Uint8Array): Delta | null {
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
  if (bytes > deltaBytesMax) return null;
  const version = findElement(description, versionField);
  const element = findElement(description, 'diff');
  if (version === null || element?.type !== elementType.document) return null;
  if (readNumber(description, version) !== diffVersion) return null;
  const diff = readDocument(description, element);
  const updated = onlyUpdates(diff);
  if (updated !== null && isPlain(updated))
    return { form: 'fields', updated, removedFields: null, bytes, removed: nothing };
  const folded = wholeFields(diff);
  if (folded !== null) return { ...folded, bytes, removed: folded.unset };
  const changes = new DiffChanges().of(diff);
  if (changes === null || changes.length > deltaStagesMax) return null;
  if (!changes.every(isMade) || !changes.every(isWithinLevels)) return null;
  const unset = changes.filter(({ kind }) => kind === 'unset').map(({ path }) => pathKey(path));
  return { form: 'paths', changes, bytes, removed: new Set(unset) };
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
