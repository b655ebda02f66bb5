import { compareRaw } from '../../bson/compare.js';
import { isLossless } from '../../bson/lossless.js';
import { bufferOf, ownedValue, type RawValue } from '../../bson/scan.js';
import { compareGroup, digestOf, idOf, type MismatchKind } from './compare-group.js';
import type { OrderedDocuments } from './ordered-documents.js';

/** An `_id` whose documents were found to differ at one look; whether they really do is for later looks to say. */
export interface Finding {
  id: RawValue;
  kind: MismatchKind;
  /** State of its documents on each side (see `digestOf`). */
  source: string;
  destination: string;
}

/** What a comparison of a range tells while it goes on. */
export interface RangeObserver {
  /** Some findings, in the order of the range; they are the observer's. */
  found(findings: Finding[]): Promise<void>;
  /**
   * Asked now and then; from `next` on nothing has been told yet, and everything below it has.
   * @param next the next `_id` of either side
   */
  reached(next: RawValue): Promise<void>;
}

/** Findings are handed on in such portions, so that there is no number of them that fills the memory. */
const findingsMax = 256;

/**
 * Compares two ordered readings of one range to their end, as bytes; only where bytes differ are `_id`s looked at.
 * @throws what the readings and the observer throw
 */
export async function compareRange(
  source: OrderedDocuments,
  destination: OrderedDocuments,
  observer: RangeObserver,
): Promise<void> {
  let findings: Finding[] = [];
  const handOn = async () => {
    const portion = findings;
    findings = [];
    if (portion.length > 0) await observer.found(portion);
  };
  for (;;) {
    if (source.wantsBatch || destination.wantsBatch) {
      await handOn();
      await Promise.all([source.fill(), destination.fill()]);
      const next = lowestId(source.current, destination.current);
      if (next !== null && isLossless(next)) await observer.reached(ownedValue(next));
    }
    passEqual(source, destination);
    if (source.wantsBatch || destination.wantsBatch) continue;
    const id = lowestId(source.current, destination.current);
    if (id === null) return handOn();
    const finding = await compareNext(source, destination, ownedValue(id));
    if (finding !== null) findings.push(finding);
    if (findings.length >= findingsMax) await handOn();
  }
}

/** Goes on over all documents of the batches at hand whose bytes are the same. */
function passEqual(source: OrderedDocuments, destination: OrderedDocuments): void {
  while (sameAtHand(source, destination)) {
    source.at += 1;
    destination.at += 1;
  }
}

function sameAtHand({ current: here }: OrderedDocuments, { current: there }: OrderedDocuments): boolean {
  return here !== undefined && there !== undefined && here.length === there.length && bufferOf(here).equals(there);
}

function lowestId(here: Uint8Array | undefined, there: Uint8Array | undefined): RawValue | null {
  if (here === undefined) return there === undefined ? null : idOf(there);
  if (there === undefined) return idOf(here);
  const [a, b] = [idOf(here), idOf(there)];
  return compareRaw(a, b) <= 0 ? a : b;
}

/** Takes and compares everything of the lowest `_id` at hand. */
async function compareNext(
  source: OrderedDocuments,
  destination: OrderedDocuments,
  id: RawValue,
): Promise<Finding | null> {
  const [here, there] = [await source.takeGroup(id), await destination.takeGroup(id)];
  const [first] = compareGroup(here, there);
  return first === undefined ? null : { id, kind: first.kind, source: digestOf(here), destination: digestOf(there) };
}
