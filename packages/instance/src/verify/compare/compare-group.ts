import { createHash } from 'node:crypto';
import { idOrNull } from '../../bson/id.js';
import { bufferOf } from '../../bson/scan.js';

/** What can be wrong with a document of the destination. */
export type MismatchKind = 'missingOnDestination' | 'extraOnDestination' | 'different';

/** What is wrong with the documents of an `_id`, by their digests on both sides. */
export function kindOf(source: string, destination: string): MismatchKind {
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
  return createHash('sha256').update(document).digest().subarray(0, digestBytes).toString('base64url');
}

/** Combines the digests of several documents into what `digestOf` returns. */
export function joinedDigest(digests: readonly string[]): string {
  return digests.length < 2 ? (digests[0] ?? '') : documentDigest(Buffer.from([...digests].sort().join()));
}
