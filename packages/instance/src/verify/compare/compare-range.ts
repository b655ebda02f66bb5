import { bufferOf, ownedValue, type RawValue } from '../../bson/scan.js';
import { idOrNull, compareIds, isSendable } from '../../bson/id.js';
import { compareGroup, digestOf, type MismatchKind } from './compare-group.js';
import type { OrderedDocuments } from './ordered-documents.js';

/** An `_id` whose documents differed at one check; later checks decide whether they really differ. */
export interface Finding {
  id: RawValue;
  kind: MismatchKind;
  /** State of its documents on each side (see `digestOf`). */
  source: string;
  destination: string;
}

/** Progress callbacks of the comparison of a range. */
interface RangeObserver {
  /** Receives findings in the order of the range, and owns them. */
  found(findings: Finding[]): Promise<void>;
  /**
   * Called now and then; everything below `next` has been reported, nothing from `next` on.
   * @param next the next `_id` of either side
   */
  reached(next: RawValue): Promise<void>;
}

/** Findings are reported in portions of this size, so that they never fill the memory. */
const findingsMax = 256;

/**
 * Compares two ordered reads of one range to their end, as bytes; it parses `_id`s only where bytes differ.
 * @throws what the reads and the observer throw
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
      if (next !== null && isSendable(next)) await observer.reached(ownedValue(next));
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

/** Skips all documents of the current batches whose bytes are equal. */
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
  if (here === undefined) return there === undefined ? null : idOrNull(there);
  if (there === undefined) return idOrNull(here);
  const [a, b] = [idOrNull(here), idOrNull(there)];
  return compareIds(a, b) <= 0 ? a : b;
}

/** Takes and compares all documents of the lowest current `_id`. */
async function compareNext(
  source: OrderedDocuments,
  destination: OrderedDocuments,
  id: RawValue,
): Promise<Finding | null> {
  const [here, there] = [await source.takeGroup(id), await destination.takeGroup(id)];
  const [first] = compareGroup(here, there);
  return first === undefined ? null : { id, kind: first.kind, source: digestOf(here), destination: digestOf(there) };
}
