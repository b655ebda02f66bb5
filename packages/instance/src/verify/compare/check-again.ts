import { idOrNull } from '../../bson/id.js';
import { ownedValue, type RawValue } from '../../bson/scan.js';
import {
  compareGroup,
  mismatchKind,
  type MismatchKind,
  differingPaths,
  type PathDifference,
} from './compare-documents.js';
import {
  findDocuments,
  findOnBothSides,
  type FoundDocuments,
  isSameFound,
  type Lookup,
  lookupName,
} from './find-documents.js';
import type { Sides } from './sides.js';

/** An `_id` that differed at the latest check. */
export interface Suspect {
  id: RawValue;
  kind: MismatchKind;
  /** State of its documents on each side at the latest check (see `digestOf`). */
  source: string;
  destination: string;
  /** Since when neither side has changed, and how often this state was found; milliseconds since 1970. */
  unchangedSince_ms: number;
  unchangedLooks: number;
  firstSeen_ms: number;
  looks: number;
}

/** When a difference counts as proven. */
export interface ProofRule {
  /** Neither side has changed for this long: any delayed change would have arrived. */
  settle_ms: number;
  /** And it was found in the same state this often, so that an oscillating value does not count as stable. */
  looksMin: number;
}

/** A document that differs between both sides: either proven, or found at every check to the end. */
export interface Mismatch {
  kind: MismatchKind;
  id: RawValue;
  /** Where the documents differ, for `different`. */
  paths: PathDifference[];
  firstSeen_ms: number;
  lastSeen_ms: number;
  /** How often it was found to differ. */
  looks: number;
}

/** The result of another check of some suspects. */
interface SecondLook {
  /** Still different, but not proven. */
  suspects: Suspect[];
  proven: Mismatch[];
  /** Equal now. */
  agreed: number;
}

/**
 * Checks some suspects of one collection again: first on the source, so that the destination has that time to catch up.
 * @throws what the clients throw
 */
export async function checkAgain(
  suspects: readonly Suspect[],
  lookups: Sides<Lookup>,
  rule: ProofRule,
  now_ms: number,
): Promise<SecondLook> {
  const ids = suspects.map(({ id }) => id);
  const found = await findOnBothSides(lookups, ids);
  const result: SecondLook = { suspects: [], proven: [], agreed: 0 };
  for (const before of suspects) {
    const sides = found(before.id);
    if (isSameFound(sides.source, sides.destination)) {
      result.agreed += 1;
      continue;
    }
    const suspect = lookedAt(before, sides, now_ms);
    if (isProven(suspect, rule, now_ms)) result.proven.push(...(await mismatchesOf(suspect, sides, lookups, now_ms)));
    else result.suspects.push(suspect);
  }
  return result;
}

function lookedAt(before: Suspect, { source, destination }: Sides<FoundDocuments>, now_ms: number): Suspect {
  const isUnchanged = before.source === source.digest && before.destination === destination.digest;
  return {
    ...before,
    kind: mismatchKind(source.digest, destination.digest),
    source: source.digest,
    destination: destination.digest,
    unchangedSince_ms: isUnchanged ? before.unchangedSince_ms : now_ms,
    unchangedLooks: isUnchanged ? before.unchangedLooks + 1 : 1,
    looks: before.looks + 1,
  };
}

function isProven({ unchangedLooks, unchangedSince_ms }: Suspect, rule: ProofRule, now_ms: number): boolean {
  return unchangedLooks >= rule.looksMin && now_ms - unchangedSince_ms >= rule.settle_ms;
}

/**
 * What is wrong with a suspect's documents; reads them once more if they were too large to hold in memory. None if they
 * agree now.
 */
async function mismatchesOf(
  suspect: Suspect,
  sides: Sides<FoundDocuments>,
  lookups: Sides<Lookup>,
  now_ms: number,
): Promise<Mismatch[]> {
  const here = sides.source.documents ?? (await readSingle(lookups.source, suspect));
  const there = sides.destination.documents ?? (await readSingle(lookups.destination, suspect));
  return compareGroup(here, there).map(({ kind, source, destination }) => ({
    kind,
    id: ownedValue(idOrNull(source ?? destination ?? new Uint8Array())),
    paths: source === null || destination === null ? [] : differingPaths(source, destination),
    firstSeen_ms: suspect.firstSeen_ms,
    lastSeen_ms: now_ms,
    looks: suspect.looks,
  }));
}

async function readSingle(lookup: Lookup, { id }: Suspect): Promise<Uint8Array[]> {
  return (await findDocuments(lookup, [id])).get(lookupName(id))?.documents ?? [];
}

/**
 * Checks that must find the same state. If a document oscillates between two states on both sides, one check in four
 * finds a given pair of them; this many in a row do so once in 16,000 times.
 */
export const looksForProof = 8;
