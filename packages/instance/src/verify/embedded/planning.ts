import { mapBounded } from '../../async/together.js';
import { isSendable } from '../../bson/id.js';
import { type KnownTimes, knownTimes, latest, noTimes, type Side } from '../compare/sides.js';
import type { SideFollower } from './side-follower.js';
import { type CollectionToVerify, storedPlan, type VerifierDependencies } from './verification-plan.js';
import type { BookedCollection, VerificationStore } from './verification-store.js';

/**
 * Copies checked at once, one for each participating sync task; the streams are reopened for all collections of a turn
 * together.
 */
const copiesMax = 1_000;
/** Collections whose plans are read at once. */
const readMax = 1_000;
/** Of those, processed concurrently. */
const parallelMax = 8;

/** Plans the comparison of the sync task's own collections, and reads the plans that other sync tasks made. */
export class Planner {
  readonly #own = new Turns<BookedCollection>(({ collection }) => collection.key);
  readonly #others = new Turns<BookedCollection>(({ collection }) => collection.key);
  #begun = false;

  constructor(
    private readonly deps: VerifierDependencies,
    private readonly store: VerificationStore,
    private readonly followers: readonly SideFollower[],
  ) {}

  /**
   * Whether planning has begun: once everything was copied. While the copy is at work, comparing would take from it
   * what it needs; the streams would read the copy's own writes.
   */
  get hasBegun(): boolean {
    this.#begun ||= this.deps.migration.isCopyDone;
    return this.#begun;
  }

  /** Plans some of the collections that are copied by now; the streams follow them from the times of their plans on. */
  async planCopied(signal: AbortSignal): Promise<void> {
    const { deps, store, followers } = this;
    const waiting = this.#own.next(store.unplanned, copiesMax, ({ collection }) => collection.copyTasks.length);
    if (waiting.length === 0) return;
    const copied = await deps.migration.copied(
      waiting.map(({ collection }) => collection),
      signal,
    );
    const ready = waiting.filter(({ collection }) => copied.has(collection.key));
    if (ready.length === 0) return;
    const present = await knownTimes(deps, signal);
    const times = latest([present, ...followers.map(({ side, position }) => ({ ...noTimes, [side]: position ?? 0n }))]);
    const plans = await mapBounded(
      ready,
      parallelMax,
      async ({ collection }) => [collection.key, await planOne(deps, collection, times, signal)] as const,
    );
    for (const [key, plan] of plans) store.setPlan(key, plan);
    for (const follower of followers) follower.follow();
  }

  /** Reads some of the plans that other sync tasks have made by now. */
  async takePlans(): Promise<void> {
    await this.store.takePlans(this.#others.next(this.store.unknown, readMax));
  }
}

async function planOne(
  deps: VerifierDependencies,
  collection: CollectionToVerify,
  times: KnownTimes,
  signal: AbortSignal,
) {
  const isWhole = collection.unordered || collection.capped;
  const bounds = isWhole ? [] : (await deps.migration.boundsOf(collection, signal)).filter(isSendable);
  const count = (side: Side) =>
    deps.retrying(
      'count documents',
      async () => {
        const { database, name } = collection.on[side];
        return Number((await deps[side].router.command(database, { count: name }, { signal })).n);
      },
      signal,
    );
  const [source, destination] = await Promise.all([count('source'), count('destination')]);
  return deps.storage.plan(collection.key, storedPlan({ bounds, times, documents: { source, destination } }));
}

/** Returns some of many items at a time, so that each gets its turn before any gets another. */
export class Turns<Thing> {
  readonly #had = new Set<string>();

  constructor(private readonly nameOf: (thing: Thing) => string) {}

  /**
   * Some of those that have not had their turn, at least one if there is any.
   * @param weightMax maximum total weight
   */
  next(things: readonly Thing[], weightMax: number, weightOf: (thing: Thing) => number = () => 1): Thing[] {
    let waiting = things.filter((thing) => !this.#had.has(this.nameOf(thing)));
    if (waiting.length === 0) {
      this.#had.clear();
      waiting = [...things];
    }
    const chosen: Thing[] = [];
    let weight = 0;
    for (const thing of waiting) {
      weight += weightOf(thing);
      if (chosen.length > 0 && weight > weightMax) break;
      chosen.push(thing);
      this.#had.add(this.nameOf(thing));
    }
    return chosen;
  }
}
