import { compareByLookup } from '../compare/compare-by-lookup.js';
import { compareRange, type Finding } from '../compare/compare-range.js';
import type { KnownTimes, Side } from '../compare/sides.js';
import { lookupsOn } from '../compare/find-documents.js';
import { OrderedDocuments } from '../compare/ordered-documents.js';
import { firstSeen, storedMismatch } from './stored-mismatch.js';
import type { BookedCollection, VerificationStore } from './verification-store.js';
import type { VerificationPart } from './verification-plan.js';
import type { VerifierDependencies } from './verifier-dependencies.js';

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
  const { store, entry_, part } = comparing;
  await (entry_.collection.unordered ? compareUnordered : compareOrdered)(comparing);
  part.done = true;
  refuseLeft(comparing);
  await store.savePart(entry_, part);
}

async function compareOrdered(comparing: Comparing): Promise<void> {
  const { deps, entry_, part, times, signal } = comparing;
  const { on, sizeBytes, documentCount, documentFilter } = entry_.collection;
  const { lower, upper } = part;
  const documentBytes = sizeBytes / Math.max(1, documentCount);
  const before = { source: part.source, destination: part.destination };
  const reading = (side: Side) =>
    new OrderedDocuments(
      deps[side].router,
      {
        ...{ database: on[side].database, collection: on[side].name },
        ...{ lower, upper, after: times[side], documentBytes },
        filter: side === 'source' ? documentFilter : undefined,
      },
      deps.retrying,
      signal,
    );
  const [source, destination] = [reading('source'), reading('destination')];
  let recorded_ms = deps.clock.monotonic_ms();
  const count = (): void => {
    part.source = before.source + source.takenDocuments;
    part.destination = before.destination + destination.takenDocuments;
  };
  try {
    await compareRange(source, destination, {
      found: (findings) => save(comparing, findings),
      async reached(next) {
        count();
        await mayGoOn(comparing);
        if (deps.clock.monotonic_ms() - recorded_ms < record_ms) return;
        part.lower = next;
        await comparing.store.savePart(entry_, part);
        recorded_ms = deps.clock.monotonic_ms();
      },
    });
    count();
  } finally {
    await Promise.all([source.close(), destination.close()]);
  }
}

/** Compares a collection without a known order as a whole; a failure restarts it from the beginning. */
async function compareUnordered(comparing: Comparing): Promise<void> {
  const { deps, entry_, part, times, signal } = comparing;
  const { on, documentFilter } = entry_.collection;
  const { source, destination } = lookupsOn(deps, on, times, signal, documentFilter);
  const compare = async (): Promise<void> => {
    [part.source, part.destination] = [0, 0];
    await compareByLookup(source, destination, {
      async found(findings) {
        await mayGoOn(comparing);
        await save(comparing, findings);
      },
      compared(batch) {
        part.source += batch.sourceDocuments;
        part.destination += batch.destinationDocuments;
      },
    });
  };
  await deps.retrying('compare by lookup', compare, signal);
}

async function mayGoOn(comparing: Comparing): Promise<void> {
  const { deps, untilRoom, signal } = comparing;
  const { migration, clock } = deps;
  while (migration.isApplyBehind || migration.isDraining) await clock.sleep(pause_ms, signal);
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
