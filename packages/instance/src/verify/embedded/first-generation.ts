import { compareByLookup } from '../compare/compare-by-lookup.js';
import { compareRange, type Finding } from '../compare/compare-range.js';
import type { KnownTimes } from '../compare/sides.js';
import { lookupsOn } from '../compare/find-documents.js';
import { OrderedDocuments } from '../compare/ordered-documents.js';
import { newDifference } from './difference-history.js';
import { storedMismatch } from './stored-mismatch.js';
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

/** What comparing a part needs besides the dependencies. */
interface FirstGenerationHooks {
  store: VerificationStore;
  /** Resolves while there is room for documents that differ. */
  untilRoom(signal: AbortSignal): Promise<void>;
  /** Called once documents that differ were stored. */
  found(count: number): void;
}

/**
 * Compares a part of a collection from where it stopped. It stores differences before it stores progress.
 * @throws CollectionLeftError; what the clients throw after their retries
 */
export async function comparePart(
  deps: VerifierDependencies,
  hooks: FirstGenerationHooks,
  entry_: BookedCollection,
  part: VerificationPart,
  times: KnownTimes,
  signal: AbortSignal,
): Promise<void> {
  await (entry_.collection.unordered ? compareUnordered : compareOrdered)(deps, hooks, entry_, part, times, signal);
  part.done = true;
  refuseLeft(hooks, entry_);
  await hooks.store.savePart(entry_, part);
}

async function compareOrdered(
  deps: VerifierDependencies,
  hooks: FirstGenerationHooks,
  entry_: BookedCollection,
  part: VerificationPart,
  times: KnownTimes,
  signal: AbortSignal,
): Promise<void> {
  const { on, sizeBytes, documentCount, documentFilter } = entry_.collection;
  const { lower, upper } = part;
  const documentBytes = sizeBytes / Math.max(1, documentCount);
  const before = { source: part.source, destination: part.destination };
  const reading = (side: 'source' | 'destination') =>
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
      found: (findings) => store(deps, hooks, entry_, findings),
      async reached(next) {
        count();
        await mayGoOn(deps, hooks, entry_, signal);
        if (deps.clock.monotonic_ms() - recorded_ms < record_ms) return;
        part.lower = next;
        await hooks.store.savePart(entry_, part);
        recorded_ms = deps.clock.monotonic_ms();
      },
    });
    count();
  } finally {
    await Promise.all([source.close(), destination.close()]);
  }
}

/** Compares a collection without a known order as a whole; a failure restarts it from the beginning. */
async function compareUnordered(
  deps: VerifierDependencies,
  hooks: FirstGenerationHooks,
  entry_: BookedCollection,
  part: VerificationPart,
  times: KnownTimes,
  signal: AbortSignal,
): Promise<void> {
  const { on, documentFilter } = entry_.collection;
  const { source, destination } = lookupsOn(deps, on, times, signal, documentFilter);
  const compare = async (): Promise<void> => {
    [part.source, part.destination] = [0, 0];
    await compareByLookup(source, destination, {
      async found(findings) {
        await mayGoOn(deps, hooks, entry_, signal);
        await store(deps, hooks, entry_, findings);
      },
      compared(batch) {
        part.source += batch.sourceDocuments;
        part.destination += batch.destinationDocuments;
      },
    });
  };
  await deps.retrying('compare by lookup', compare, signal);
}

async function mayGoOn(
  deps: VerifierDependencies,
  hooks: FirstGenerationHooks,
  entry_: BookedCollection,
  signal: AbortSignal,
): Promise<void> {
  const { migration } = deps;
  while (migration.isApplyBehind || migration.isDraining) await deps.clock.sleep(pause_ms, signal);
  await hooks.untilRoom(signal);
  refuseLeft(hooks, entry_);
}

async function store(
  { storage, clock }: VerifierDependencies,
  hooks: FirstGenerationHooks,
  entry_: BookedCollection,
  findings: readonly Finding[],
): Promise<void> {
  if (findings.length === 0) return;
  refuseLeft(hooks, entry_);
  const now = new Date(clock.now_ms());
  await storage.saveMismatches(
    findings.map(({ id, kind }) =>
      storedMismatch(
        entry_.collection,
        id,
        { kind, paths: [] },
        { first: now, last: now, looks: 1, ordinal: hooks.store.ordinal, history: newDifference },
      ),
    ),
  );
  hooks.found(findings.length);
}

function refuseLeft({ store }: FirstGenerationHooks, entry_: BookedCollection): void {
  if (store.get(entry_.collection.key) !== entry_) throw new CollectionLeftError();
}
