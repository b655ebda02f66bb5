import { compareGroup, idOf, type MismatchKind } from './compare-group.js';
import { differingPaths, type PathDifference } from './differing-paths.js';
import { findDocuments, type FindDependencies, type FoundDocuments, lookupName } from './find-documents.js';
import { ownedValue, type RawValue } from '../../bson/scan.js';

/** An `_id` that differed when it was last looked at. */
export interface Suspect {
  id: RawValue;
  kind: MismatchKind;
  /** State of its documents on each side at the last look (see `digestOf`). */
  source: string;
  destination: string;
  /** Since when neither side has changed, and how often they were found in this state; milliseconds since 1970. */
  unchangedSince_ms: number;
  unchangedLooks: number;
  firstSeen_ms: number;
  looks: number;
}

/** When a difference counts as proven. */
export interface ProofRule {
  /** Neither side has changed for so long: what would still be on its way has arrived by then. */
  settle_ms: number;
  /** And was found in the same state so often, so that a value that goes back and forth is not taken for one that stands still. */
  looksMin: number;
}

/** A document of which it is proven, or which was found to the end, that it is not on both sides as it should be. */
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

/** What another look at some suspects has shown. */
export interface SecondLook {
  /** Differ still, and are not proven. */
  suspects: Suspect[];
  proven: Mismatch[];
  /** Are equal now. */
  agreed: number;
}

/** Both sides of a look. */
export interface LookDependencies {
  source: FindDependencies;
  destination: FindDependencies;
  rule: ProofRule;
  now_ms: number;
}

/**
 * Looks at some suspects of one collection again: first at the source, so that the destination has the time in between.
 * @throws what the doors throw
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

/** What is wrong with a suspect's documents, read once more where they were too large to be kept; none when they agree now. */
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
