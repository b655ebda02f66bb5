import { hash } from 'node:crypto';
import { elementType, typeName } from '../../bson/element-type.js';
import { idOrNull } from '../../bson/id.js';
import { bufferOf, elementsOf, type NamedElement } from '../../bson/scan.js';
import { isWellFormed } from '../../bson/utf8.js';

/** What can be wrong with a document of the destination. */
export type MismatchKind = 'missingOnDestination' | 'extraOnDestination' | 'different';

/** What is wrong with the documents of an `_id`, by their digests on both sides. */
export function mismatchKind(source: string, destination: string): MismatchKind {
  return source === '' ? 'extraOnDestination' : destination === '' ? 'missingOnDestination' : 'different';
}

/** A document that differs between both sides. */
interface DocumentDifference {
  kind: MismatchKind;
  source: Uint8Array | null;
  destination: Uint8Array | null;
}

/**
 * Compares all documents of one `_id` as bytes. There may be several: sharded collections keep `_id`s unique on each
 * shard only. Equal documents are paired first, then those whose `_id`s have the same bytes, then the others in order.
 * @returns what remains; empty if both sides are equal
 */
export function compareGroup(source: readonly Uint8Array[], destination: readonly Uint8Array[]): DocumentDifference[] {
  const here = [...source];
  const there = [...destination];
  takePairs(here, there, (a, b) => bufferOf(a).equals(b));
  const different = [...takePairs(here, there, sameId), ...takePairs(here, there, () => true)];
  return [
    ...different.map(([a, b]): DocumentDifference => ({ kind: 'different', source: a, destination: b })),
    ...here.map((document): DocumentDifference => ({
      kind: 'missingOnDestination',
      source: document,
      destination: null,
    })),
    ...there.map((document): DocumentDifference => ({
      kind: 'extraOnDestination',
      source: null,
      destination: document,
    })),
  ];
}

/** Removes the pairs from both lists. */
function takePairs(
  here: Uint8Array[],
  there: Uint8Array[],
  together: (a: Uint8Array, b: Uint8Array) => boolean,
): [Uint8Array, Uint8Array][] {
  const pairs: [Uint8Array, Uint8Array][] = [];
  for (const document of [...here]) {
    const position = there.findIndex((other) => together(document, other));
    const other = there[position];
    if (other === undefined) continue;
    pairs.push([document, other]);
    here.splice(here.indexOf(document), 1);
    there.splice(position, 1);
  }
  return pairs;
}

function sameId(a: Uint8Array, b: Uint8Array): boolean {
  const idA = idOrNull(a);
  const idB = idOrNull(b);
  return idA.type === idB.type && bufferOf(idA.bytes).equals(idB.bytes);
}

/** Bytes of a digest: two states of one document never collide by chance. */
const digestBytes = 16;

/** A digest of the state of all documents of one `_id`, independent of their order; empty if there is none. */
export function digestOf(documents: readonly Uint8Array[]): string {
  return joinedDigest(documents.map(documentDigest));
}

/** A digest of the state of one document. */
export function documentDigest(document: Uint8Array): string {
  return hash('sha256', document, 'buffer').toString('base64url', 0, digestBytes);
}

/** Combines the digests of several documents into what `digestOf` returns. */
export function joinedDigest(digests: readonly string[]): string {
  return digests.length < 2 ? (digests[0] ?? '') : documentDigest(Buffer.from([...digests].sort().join()));
}

/** One place in which two documents differ; names and types, never values. */
export interface PathDifference {
  /**
   * Names on the path to the field, joined by dots. A name is quoted as JSON if it is empty, contains a dot or a quote,
   * or is not valid UTF-8. Empty: the whole document.
   */
  path: string;
  kind: 'changed' | 'missingOnDestination' | 'extraOnDestination' | 'order';
  /** As `$type` names them; absent if there is no value, and for `order`. */
  sourceType?: string;
  destinationType?: string;
}

/** As many as a person reads; the first ones show what is wrong. */
export const differencesMax = 20;

/**
 * Where two documents differ, field by field. Array elements are paired by position, repeated names in order.
 * @param source,destination BSON documents whose bytes differ
 * @returns at least one difference, and `differencesMax` at most
 */
export function differingPaths(source: Uint8Array, destination: Uint8Array): PathDifference[] {
  const found: PathDifference[] = [];
  compareFields(source, destination, '', found);
  return found.length === 0 ? [{ path: '', kind: 'changed', sourceType: 'object', destinationType: 'object' }] : found;
}

function compareFields(source: Uint8Array, destination: Uint8Array, path: string, found: PathDifference[]): void {
  const here = fieldsByName(source);
  const there = fieldsByName(destination);
  for (const [name, element] of here) {
    if (found.length >= differencesMax) return;
    const other = there.get(name);
    const at = joined(path, element.name);
    if (other === undefined) found.push({ path: at, kind: 'missingOnDestination', sourceType: typeName(element.type) });
    else compareValues({ bytes: source, element }, { bytes: destination, element: other }, at, found);
  }
  for (const [name, element] of there) {
    if (found.length >= differencesMax) return;
    if (!here.has(name))
      found.push({
        path: joined(path, element.name),
        kind: 'extraOnDestination',
        destinationType: typeName(element.type),
      });
  }
  if (found.length < differencesMax && !inSameOrder(here, there)) found.push({ path, kind: 'order' });
}

interface Place {
  bytes: Uint8Array;
  element: NamedElement;
}

function compareValues(source: Place, destination: Place, path: string, found: PathDifference[]): void {
  const here = valueOf(source);
  const there = valueOf(destination);
  const { type } = source.element;
  const sameType = type === destination.element.type;
  if (sameType && bufferOf(here).equals(there)) return;
  if (sameType && (type === elementType.document || type === elementType.array)) {
    const before = found.length;
    compareFields(here, there, path, found);
    if (found.length > before) return;
  }
  found.push({
    path,
    kind: 'changed',
    sourceType: typeName(type),
    destinationType: typeName(destination.element.type),
  });
}

function valueOf({ bytes, element }: Place): Uint8Array {
  return bytes.subarray(element.start, element.end);
}

/** Fields by name; repeated ones by name and number. */
function fieldsByName(bytes: Uint8Array): Map<string, NamedElement> {
  const fields = new Map<string, NamedElement>();
  for (const element of elementsOf(bytes)) {
    let key = element.name;
    // Names cannot contain a zero byte, so no other name has this form.
    for (let number = 2; fields.has(key); number += 1) key = `${element.name}\0${number}`;
    fields.set(key, element);
  }
  return fields;
}

/** Whether the common fields are in the same order. */
function inSameOrder(here: ReadonlyMap<string, unknown>, there: ReadonlyMap<string, unknown>): boolean {
  const others = [...there.keys()].filter((name) => here.has(name));
  const own = [...here.keys()].filter((name) => there.has(name));
  return own.every((name, position) => name === others[position]);
}

function joined(path: string, name: string): string {
  const shown = name === '' || /[."]/.test(name) || !isWellFormed(name) ? JSON.stringify(name) : name;
  return path === '' ? shown : `${path}.${shown}`;
}
