import type { RawValue } from '../../bson/scan.js';
import { compareGroup, kindOf, type MismatchKind } from '../compare/compare-group.js';
import type { KnownTimes } from '../compare/sides.js';
import { differingPaths, type PathDifference } from '../compare/differing-paths.js';
import { findOnBothSides, lookupName, lookupsOn } from '../compare/find-documents.js';
import type { VerifierDependencies } from './verifier-dependencies.js';
import type { CollectionToVerify } from './verification-plan.js';

/** Keys looked up by one command. */
export const lookupsMax = 500;

/** How the documents of a key differ. */
export interface Difference {
  kind: MismatchKind;
  paths: PathDifference[];
  /** Identifies the state of both sides. */
  state: string;
}

/**
 * Checks some keys of a collection on both sides: first on the source, so that the destination has that time to catch
 * up.
 * @param times the reads see everything written up to them
 * @returns the differences by `lookupName`; equal keys have none
 * @throws what the clients throw
 */
export async function lookAt(
  deps: Pick<VerifierDependencies, 'source' | 'destination'>,
  collection: Pick<CollectionToVerify, 'on' | 'documentFilter'>,
  ids: readonly RawValue[],
  times: KnownTimes,
  signal: AbortSignal,
): Promise<Map<string, Difference>> {
  const lookups = lookupsOn(deps, collection.on, times, signal, collection.documentFilter);
  const found = await findOnBothSides(lookups, ids);
  const differences = new Map<string, Difference>();
  for (const id of ids) {
    const { source, destination } = found(id);
    if (source.digest === destination.digest) continue;
    const kind = kindOf(source.digest, destination.digest);
    const state = `${source.digest}/${destination.digest}`;
    differences.set(lookupName(id), { ...differenceOf(kind, source.documents, destination.documents), state });
  }
  return differences;
}

/** Documents that were too large to hold in memory have no paths. */
function differenceOf(
  kind: MismatchKind,
  source: Uint8Array[] | null,
  destination: Uint8Array[] | null,
): Omit<Difference, 'state'> {
  if (source === null || destination === null) return { kind, paths: [] };
  const [first] = compareGroup(source, destination);
  if (first === undefined || first.source === null || first.destination === null)
    return { kind: first?.kind ?? kind, paths: [] };
  return { kind: first.kind, paths: differingPaths(first.source, first.destination) };
}
