import { steadyLagMax_seconds } from '@convoy/api/contract/command-rules';
import type { RawValue } from '../../bson/scan.js';
import type { LastingDifferences } from '../../store/task-record.js';
import {
  compareGroup,
  mismatchKind,
  type MismatchKind,
  differingPaths,
  type PathDifference,
} from '../compare/compare-documents.js';
import { findOnBothSides, isSameFound, lookupName, lookupsOn } from '../compare/find-documents.js';
import { type KnownTimes, latest, noTimes, sides } from '../compare/sides.js';
import {
  type DifferenceHistory,
  isGivenUp,
  nextHistory,
  noLastingDifferences,
  firstSeen,
  restoredMismatch,
  storedMismatch,
  type StoredMismatch,
} from './stored-mismatch.js';
import type { TouchedKey } from './touched-keys.js';
import type { CollectionToVerify, VerifierDependencies } from './verification-plan.js';
import type { BookedCollection, VerificationStore } from './verification-store.js';

/** A key that differs this often, each time after its change was applied, is stored as a mismatch. */
const looksMax = 3;
/**
 * Pause between two checks of a key that differs or was written meanwhile: its next change is likely to arrive soon.
 */
const again_ms = 1_000;

/** How long a key that one stream has shown waits for the other one: nearly every write is on both sides. */
const otherSide_ms = 2_000;

/** Progress of applying, for checks of documents that differ. */
interface Rereading {
  /** The source's current time. */
  sourceTime: bigint;
}

type IsAllowed = (entry_: BookedCollection, kind: string) => boolean;

/** How documents that differed are checked again. */
interface MismatchLook {
  times: KnownTimes;
  isAllowed: IsAllowed;
  /** Null at a final comparison. */
  rereading: Rereading | null;
}

/** Rechecks keys that were written and documents that differed; equal ones are done. */
export class Rechecks {
  #mismatches = 0;
  /** Of those, the ones found since the last pass over all of them started. */
  #foundSince = 0;
  #lasting = noLastingDifferences;

  constructor(
    private readonly deps: VerifierDependencies,
    private readonly store: VerificationStore,
  ) {}

  /** What differed with nothing in flight at the latest pass over all of them. */
  get lasting(): LastingDifferences {
    return this.#lasting;
  }

  /** Counts what earlier processes stored. */
  async open(): Promise<void> {
    this.#mismatches = await this.deps.storage.countMismatches();
  }

  /** Documents that differed at their latest check. One found in two ways may count twice until the next check. */
  get mismatches(): number {
    return this.#mismatches;
  }

  /** Counts stored documents that differ. */
  found(count: number): void {
    this.#mismatches += count;
    this.#foundSince += count;
  }

  /**
   * Checks some keys that were written.
   * @param sourceTime the source's current time: what differs is checked again once that is applied
   * @returns false if none was due
   */
  async lookAtDue(sourceTime: bigint, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.deps;
    const [now_ms, applied] = [clock.monotonic_ms(), this.deps.migration.appliedTime];
    // Without room for more keys the streams stop: some keys must leave, as stored mismatches that are checked again.
    const { isFull } = this.store.keys;
    const due = this.store.keys.some(lookupsMax, (key) =>
      isFull ? key.notBefore_ms <= now_ms : key.appliedFrom <= applied && isShown(key, now_ms),
    );
    if (due.length === 0) return false;
    await this.#look(
      due,
      noTimes,
      (key) => {
        if (key.looks + 1 >= looksMax) return false;
        this.store.keys.keep(key, clock.monotonic_ms() + again_ms, sourceTime);
        return true;
      },
      signal,
    );
    return true;
  }

  /** Checks all keys that were written up to some times, and stores those that differ. */
  async lookAtAll(times: KnownTimes, signal: AbortSignal): Promise<void> {
    const isTouched = ({ first }: TouchedKey): boolean =>
      sides.some((side) => first[side] !== null && first[side] <= times[side]);
    for (;;) {
      const keys = this.store.keys.some(lookupsMax, isTouched);
      if (keys.length === 0) return;
      await this.#look(keys, times, () => false, signal);
    }
  }

  /**
   * Checks every document that differed once.
   * @param isAllowed differences that do not count
   * @returns how many still differ
   */
  async lookAtMismatches(times: KnownTimes, isAllowed: IsAllowed, signal: AbortSignal): Promise<number> {
    return (await this.#lookAtAllStored({ times, isAllowed, rereading: null }, signal)).differing;
  }

  /** Checks every document that differed once, and hands those that differ permanently over for a re-read. */
  async rereadMismatches(rereading: Rereading, signal: AbortSignal): Promise<void> {
    const { lasting } = await this.#lookAtAllStored({ times: noTimes, isAllowed: () => false, rereading }, signal);
    this.#lasting = lasting;
  }

  async #lookAtAllStored(
    look: MismatchLook,
    signal: AbortSignal,
  ): Promise<{ differing: number; lasting: LastingDifferences }> {
    let after = '';
    let differing = 0;
    const lasting: LastingDifferences = { ...noLastingDifferences, namespaces: [] };
    this.#foundSince = 0;
    for (;;) {
      const stored = (await this.deps.storage.mismatchesAfter(after, lookupsMax)).map(restoredMismatch);
      for (const group of Map.groupBy(stored, ({ key }) => key).values())
        differing += await this.#lookAtGroup(group, look, lasting, signal);
      const last = stored.at(-1);
      if (last === undefined) break;
      after = last.name;
    }
    this.#mismatches = differing + this.#foundSince;
    return { differing, lasting };
  }

  /** @param keeps whether a key that differs stays among the keys; otherwise it is stored */
  async #look(
    keys: readonly TouchedKey[],
    floor: KnownTimes,
    keeps: (key: TouchedKey) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const entry_ = this.store.get(keys[0]?.key ?? '');
    if (entry_ === undefined) return;
    const { deps, store } = this;
    for (const key of keys) store.keys.begin(key);
    const times = latest([floor, ...planned(entry_), ...keys.map(({ last }) => last)]);
    const differences = await this.#differences(entry_, keys, times, signal);
    const seen = firstSeen(deps.clock, store.ordinal);
    const settled = keys.filter((key) => !(differences.has(key.idClass) && keeps(key)));
    const differing = settled.flatMap(({ id, idClass }) => {
      const difference = differences.get(idClass);
      return difference === undefined ? [] : [storedMismatch(entry_.collection, id, difference, seen)];
    });
    if (differing.length > 0 && store.get(entry_.collection.key) === entry_) {
      await deps.storage.saveMismatches(differing);
      this.found(differing.length);
    }
    const notBefore_ms = deps.clock.monotonic_ms() + again_ms;
    for (const key of settled) store.keys.done(key, notBefore_ms);
  }

  #differences(
    { collection }: BookedCollection,
    keys: readonly { id: RawValue }[],
    times: KnownTimes,
    signal: AbortSignal,
  ): Promise<Map<string, Difference>> {
    const ids = keys.map(({ id }) => id);
    return this.deps.retrying('check again', () => differencesOf(this.deps, collection, ids, times, signal), signal);
  }

  async #lookAtGroup(
    group: readonly StoredMismatch[],
    { times: floor, isAllowed, rereading }: MismatchLook,
    lasting: LastingDifferences,
    signal: AbortSignal,
  ): Promise<number> {
    const { deps, store } = this;
    const entry_ = store.get(group[0]?.key ?? '');
    if (entry_ === undefined) return this.#removeUnfollowed(group);
    const times = latest([floor, ...planned(entry_)]);
    const differences = await this.#differences(entry_, group, times, signal);
    const now = new Date(deps.clock.now_ms());
    const differing = group.flatMap((mismatch) => {
      const difference = differences.get(lookupName(mismatch.id));
      if (difference === undefined || isAllowed(entry_, difference.kind)) return [];
      const history =
        rereading === null
          ? mismatch.history
          : this.#nextHistory(mismatch.history, difference.state, entry_, rereading);
      count(lasting, history, entry_);
      return [
        storedMismatch(entry_.collection, mismatch.id, difference, {
          first: mismatch.firstSeen,
          last: now,
          looks: mismatch.looks + 1,
          ordinal: store.ordinal,
          history,
        }),
      ];
    });
    const kept = new Set(differing.map(({ _id }) => _id));
    const agreed = group.filter(({ name }) => !kept.has(name)).map(({ name }) => name);
    if (differing.length > 0) await deps.storage.saveMismatches(differing);
    if (agreed.length > 0) await deps.storage.removeMismatches(agreed);
    return differing.length;
  }

  #nextHistory(
    before: DifferenceHistory,
    state: string,
    { collection }: BookedCollection,
    { sourceTime }: Rereading,
  ): DifferenceHistory {
    const { migration } = this.deps;
    const isBusy = migration.isCommitAwaited || migration.applyLag_seconds > steadyLagMax_seconds;
    const rereadTasks = isBusy ? [] : collection.copyTasks;
    return nextHistory(before, { state, sourceTime, applied: migration.appliedTime, rereadTasks });
  }

  /**
   * Drops mismatches of collections that are no longer followed, because they were dropped or renamed. @returns how
   * many are left
   */
  async #removeUnfollowed(group: readonly StoredMismatch[]): Promise<number> {
    const over = group.filter(({ ordinal }) => ordinal <= this.store.ordinal).map(({ name }) => name);
    if (over.length > 0) await this.deps.storage.removeMismatches(over);
    return group.length - over.length;
  }
}

/** Whether both streams have shown a key, so that none of them will name it for the same write again, or one waited. */
function isShown({ notBefore_ms, first }: TouchedKey, now_ms: number): boolean {
  const isOnBoth = first.source !== null && first.destination !== null;
  return notBefore_ms + (isOnBoth ? 0 : otherSide_ms) <= now_ms;
}

function count(lasting: LastingDifferences, history: DifferenceHistory, { collection }: BookedCollection): void {
  if (!history.proven) return;
  const { namespace } = collection;
  lasting.documents += 1;
  if (isGivenUp(history)) lasting.givenUp += 1;
  if (!lasting.namespaces.includes(namespace)) lasting.namespaces.push(namespace);
}

function planned({ plan }: BookedCollection): KnownTimes[] {
  return plan === null ? [] : [plan.times];
}

/** Keys looked up by one command. */
const lookupsMax = 500;

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
async function differencesOf(
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
    if (isSameFound(source, destination)) continue;
    const kind = mismatchKind(source.digest, destination.digest);
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
