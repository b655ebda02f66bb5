import { compareGroup, idOf, type MismatchKind } from './compare-group.js';
import { differingPaths, type PathDifference } from './differing-paths.js';
import { findDocuments, type FindDependencies, type FoundDocuments, lookupName } from './find-documents.js';
import { ownedValue, type RawValue } from '../../bson/scan.js';

/** An `_id` that differed at the last check. */
export interface Suspect {
  id: RawValue;
  kind: MismatchKind;
  /** State of its documents on each side at the last check (see `digestOf`). */
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
export interface SecondLook {
  /** Still different, but not proven. */
  suspects: Suspect[];
  proven: Mismatch[];
  /** Equal now. */
  agreed: number;
}

/** Both sides of a check. */
export interface LookDependencies {
  source: FindDependencies;
  destination: FindDependencies;
  rule: ProofRule;
  now_ms: number;
}

/**
 * Checks some suspects of one collection again: first on the source, so that the destination has that time to catch up.
 * @throws what the clients throw
 */
export async function checkAgain(suspects: readonly Suspect[], deps: LookDependencies): Promise<SecondLook> {
  const ids = suspects.map(({ id }) => id);
  const here = await findDocuments(deps.source, ids);
  const there = await findDocuments(deps.destination, ids);
  const result: SecondLook = { suspects: [], proven: [], agreed: 0 };
  for (const before of suspects) {
    const name = lookupName(before.id);
    const sides = { source: foundOf(here, name), destination: foundOf(there, name) };
    if (sides.source.digest === sides.destination.digest) {
      result.agreed += 1;
      continue;
    }
    const suspect = lookedAt(before, sides, deps.now_ms);
    if (isProven(suspect, deps)) result.proven.push(...(await mismatchesOf(suspect, sides, deps)));
    else result.suspects.push(suspect);
  }
  return result;
}

interface Sides {
  source: FoundDocuments;
  destination: FoundDocuments;
}

function foundOf(found: ReadonlyMap<string, FoundDocuments>, name: string): FoundDocuments {
  return found.get(name) ?? { digest: '', documents: [] };
}

function lookedAt(before: Suspect, { source, destination }: Sides, now_ms: number): Suspect {
  const isUnchanged = before.source === source.digest && before.destination === destination.digest;
  return {
    ...before,
    kind:
      source.digest === '' ? 'extraOnDestination' : destination.digest === '' ? 'missingOnDestination' : 'different',
    source: source.digest,
    destination: destination.digest,
    unchangedSince_ms: isUnchanged ? before.unchangedSince_ms : now_ms,
    unchangedLooks: isUnchanged ? before.unchangedLooks + 1 : 1,
    looks: before.looks + 1,
  };
}

function isProven({ unchangedLooks, unchangedSince_ms }: Suspect, { rule, now_ms }: LookDependencies): boolean {
  return unchangedLooks >= rule.looksMin && now_ms - unchangedSince_ms >= rule.settle_ms;
}

/**
 * What is wrong with a suspect's documents; reads them once more if they were too large to hold in memory. None if they
 * agree now.
 */
async function mismatchesOf(suspect: Suspect, sides: Sides, deps: LookDependencies): Promise<Mismatch[]> {
  const here = sides.source.documents ?? (await readSingle(deps.source, suspect));
  const there = sides.destination.documents ?? (await readSingle(deps.destination, suspect));
  return compareGroup(here, there).map(({ kind, source, destination }) => ({
    kind,
    id: ownedValue(idOf(source ?? destination ?? new Uint8Array())),
    paths: source === null || destination === null ? [] : differingPaths(source, destination),
    firstSeen_ms: suspect.firstSeen_ms,
    lastSeen_ms: deps.now_ms,
    looks: suspect.looks,
  }));
}

async function readSingle(deps: FindDependencies, { id }: Suspect): Promise<Uint8Array[]> {
  return (await findDocuments(deps, [id])).get(lookupName(id))?.documents ?? [];
}
