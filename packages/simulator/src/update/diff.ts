import { Binary, Int32 } from 'bson';
import { compareStrings } from '../bson/compare.js';
import { encodeDocument, encodeValue } from '../bson/encode.js';
import { typeOf } from '../bson/type-of.js';
import type { Doc, Value } from '../bson/value.js';

/**
 * An update's `diff` in the oplog (`$v: 2`): `d` removed, `u` updated, `i` new fields, `s<name>` the change of an
 * embedded value; for arrays `a: true`, `l` the new, shorter length, `u<index>`, `s<index>`.
 */
export type Diff = Doc;

/**
 * Bytes of an oplog entry beside its diff. Where both together are not shorter than the document, the server logs the
 * document.
 */
const ENTRY_BYTES = 15;

/**
 * The difference between two documents as the server finds it for pipeline updates.
 * @returns undefined when diff and entry are at least as long as the document
 */
export function computeDiff(before: Doc, after: Doc): Diff | undefined {
  const diff = documentDiff(before, after);
  const size = encodeDocument(diff).length + ENTRY_BYTES;
  return size >= encodeDocument(after).length ? undefined : diff;
}

/** True when two values are the same bytes; encodes them only where it must. */
export function sameBytes(a: Value, b: Value): boolean {
  if (a === b) return true;
  if (a instanceof Map && b instanceof Map) return sameFields(a, b);
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, index) => sameBytes(item, b[index] ?? null));
  if (a instanceof Binary && b instanceof Binary)
    return a.sub_type === b.sub_type && Buffer.compare(a.value(), b.value()) === 0;
  return typeOf(a) === typeOf(b) && encodeValue(a).equals(encodeValue(b));
}

function sameFields(a: Doc, b: Doc): boolean {
  if (a.size !== b.size) return false;
  const others = b.entries();
  for (const [name, value] of a) {
    const next = others.next();
    if (next.done === true || next.value[0] !== name || !sameBytes(value, next.value[1])) return false;
  }
  return true;
}

/** Puts the sections of a diff in the server's order. */
export function assembleDiff(removed: Doc, updated: Doc, inserted: Doc, inner: Doc): Diff {
  const diff: Diff = new Map();
  if (removed.size > 0) diff.set('d', removed);
  if (updated.size > 0) diff.set('u', updated);
  if (inserted.size > 0) diff.set('i', inserted);
  for (const [name, change] of inner) diff.set(name, change);
  return diff;
}

function documentDiff(before: Doc, after: Doc): Diff {
  const removed: Doc = new Map();
  const updated: Doc = new Map();
  const inserted: Doc = new Map();
  const inner: Doc = new Map();
  const { inPlace, skipped, trailing } = walkBoth(before, after);
  for (const name of [...trailing, ...skipped.sort(compareStrings)]) if (!after.has(name)) removed.set(name, false);
  for (const [name, value] of after) {
    const known = before.get(name);
    if (known === undefined || !inPlace.has(name)) inserted.set(name, value);
    else if (!sameBytes(known, value)) {
      const change = innerDiff(known, value);
      if (change === undefined) updated.set(name, value);
      else inner.set(`s${name}`, change);
    }
  }
  return assembleDiff(removed, updated, inserted, inner);
}

/** Fields of the old document, as the server walks through both documents at once. */
interface Walk {
  /** In the same order in both documents. The server deletes any other old field, or inserts it again at the end. */
  readonly inPlace: ReadonlySet<string>;
  /** Skipped while the new document had another field. The server sorts the removed ones by name. */
  readonly skipped: string[];
  /** Those after the end of the new document. */
  readonly trailing: readonly string[];
}

function walkBoth(before: Doc, after: Doc): Walk {
  const inPlace = new Set<string>();
  const skipped: string[] = [];
  const trailing: string[] = [];
  const names = [...after.keys()];
  for (const name of before.keys()) {
    // As many fields of the new document are behind as stay in place.
    if (names[inPlace.size] === name) inPlace.add(name);
    else (inPlace.size < names.length ? skipped : trailing).push(name);
  }
  return { inPlace, skipped, trailing };
}

/** The change inside two documents or two arrays; undefined when it is longer than the new value. */
function innerDiff(before: Value, after: Value): Diff | undefined {
  let diff: Diff | undefined;
  if (before instanceof Map && after instanceof Map) diff = documentDiff(before, after);
  else if (Array.isArray(before) && Array.isArray(after)) diff = arrayDiff(before, after);
  if (diff === undefined) return undefined;
  return encodeDocument(diff).length > encodeValue(after).length ? undefined : diff;
}

function arrayDiff(before: Value[], after: Value[]): Diff {
  const diff: Diff = new Map([['a', true]]);
  if (after.length < before.length) diff.set('l', new Int32(after.length));
  for (const [index, value] of after.entries()) {
    const known = before[index];
    if (known !== undefined && sameBytes(known, value)) continue;
    const change = known === undefined ? undefined : innerDiff(known, value);
    diff.set(change === undefined ? `u${index}` : `s${index}`, change ?? value);
  }
  return diff;
}
