import { steadyLagMax_seconds } from '@convoy/api/contract/command-rules';
import { compareFirst, type Finding } from '../compare/first-comparison.js';
import type { KnownTimes } from '../compare/sides.js';
import { firstSeen, storedMismatch } from './stored-mismatch.js';
import type { VerificationPart, VerifierDependencies } from './verification-plan.js';
import type { BookedCollection, VerificationStore } from './verification-store.js';

/** Interval at which the progress of comparing is stored. */
const record_ms = 2_000;
/** Interval of checks whether a pause may end: applying is behind or has priority, or too many documents differ. */
const pause_ms = 250;

/** The collection that was being compared is no longer followed in the same form. */
export class CollectionLeftError extends Error {
  override readonly name = 'CollectionLeftError';
}

/** A part of a collection that is compared. */
interface Comparing {
  deps: VerifierDependencies;
  store: VerificationStore;
  entry_: BookedCollection;
  part: VerificationPart;
  times: KnownTimes;
  /** Resolves while there is room for documents that differ. */
  untilRoom: (signal: AbortSignal) => Promise<void>;
  /** Called once documents that differ were stored. */
  found: (count: number) => void;
  signal: AbortSignal;
}

/**
 * Compares a part of a collection from where it stopped. It stores differences before it stores progress.
 * @throws CollectionLeftError; what the clients throw after their retries
 */
export async function comparePart(comparing: Comparing): Promise<void> {
  const { deps, store, entry_, part, times, signal } = comparing;
  const { collection } = entry_;
  const { unordered } = collection;
  // An unordered part begins anew.
  const before = unordered ? { source: 0, destination: 0 } : { source: part.source, destination: part.destination };
  let recorded_ms = deps.clock.monotonic_ms();
  const { lower, upper } = part;
  const { retrying } = deps;
  await compareFirst(
    { ...collection, clusters: deps, times, lower, upper, retrying, signal },
    {
      began() {
        [part.source, part.destination] = [before.source, before.destination];
      },
      async found(findings) {
        if (unordered) await mayGoOn(comparing);
        await save(comparing, findings);
      },
      read({ sourceDocuments, destinationDocuments }) {
        part.source = before.source + sourceDocuments;
        part.destination = before.destination + destinationDocuments;
      },
      async reached(next) {
        await mayGoOn(comparing);
        if (deps.clock.monotonic_ms() - recorded_ms < record_ms) return;
        part.lower = next;
        await store.savePart(entry_, part);
        recorded_ms = deps.clock.monotonic_ms();
      },
    },
  );
  part.done = true;
  refuseLeft(comparing);
  await store.savePart(entry_, part);
}

async function mayGoOn(comparing: Comparing): Promise<void> {
  const { deps, untilRoom, signal } = comparing;
  const { migration, clock } = deps;
  while (migration.applyLag_seconds > steadyLagMax_seconds || migration.isDraining) await clock.sleep(pause_ms, signal);
  await untilRoom(signal);
  refuseLeft(comparing);
}

async function save(comparing: Comparing, findings: readonly Finding[]): Promise<void> {
  const { deps, store, entry_, found } = comparing;
  if (findings.length === 0) return;
  refuseLeft(comparing);
  const seen = firstSeen(deps.clock, store.ordinal);
  await deps.storage.saveMismatches(
    findings.map(({ id, kind }) => storedMismatch(entry_.collection, id, { kind, paths: [] }, seen)),
  );
  found(findings.length);
}

function refuseLeft({ store, entry_ }: Comparing): void {
  if (store.get(entry_.collection.key) !== entry_) throw new CollectionLeftError();
}
