import { shownName } from '../../cluster/time-series.js';
import { codeOf } from '../../cluster/failure.js';
import { Condition, SerialQueue, untilFirst } from '../../async/waiting.js';
import type { LastingDifferences } from '../../store/task-record.js';
import { runTogether } from '../../async/together.js';
import { inSameInsertionOrder } from '../compare/compare-capped-order.js';
import { type KnownTimes, knownTimes, latest, noTimes, type Side, type Sides } from '../compare/sides.js';
import { lookupsOn } from '../compare/find-documents.js';
import { CollectionLeftError, comparePart } from './compare-part.js';
import { Planner } from './planning.js';
import { Rechecks } from './rechecks.js';
import { SideFollower, TouchesLostError } from './side-follower.js';
import { noLastingDifferences } from './stored-mismatch.js';
import { type BookedCollection, VerificationStore } from './verification-store.js';
import type { VerifierDependencies } from './verification-plan.js';

/** Interval of checks for new collections. */
const plan_ms = 500;
/** Interval of checks whether everything is copied, and of those for plans that are not made or not known yet. */
const begin_ms = 200;
/** Pause when no keys are due. */
const idle_ms = 100;
/** Minimum interval between checks of documents that differed. */
const generation_ms = 2_000;
/** Temporary failures caused by DDL changes pass within this time; retried at this interval. */
const disturbed_ms = 500;
const disturbancesMax = 120;
/** Maximum number of stored documents that differ; comparing waits until some of them agree. */
const mismatchesMax = 200_000;
/** Poll interval of the streams during the final comparison, and the least one of planning. */
const poll_ms = 20;
/** Interval at which idle shards are advanced until they have reached the time. */
const wake_ms = 400;

/** What a final comparison has to do. */
interface FinalComparison {
  /** Cluster times up to which both sides count. */
  times: KnownTimes;
  /**
   * Namespaces whose documents servers delete themselves: the source at any time, the destination once its attributes
   * are restored.
   */
  expiring: ReadonlySet<string>;
  /**
   * The first final comparison, before attributes are restored: it compares collections again whose writes streams
   * do not show completely.
   */
  whole: boolean;
}

/** Where an earlier process stopped. */
export type VerifierStart = Sides<bigint | null>;

/**
 * Verifies one sync task's part of a migration. It compares its parts of all collections once, then every document that
 * is written on either side. Before the commit, it checks everything that is left up to the commit's times.
 */
export class TaskVerifier {
  /** Changed when `plannedUpTo` or `hasCompared` may have. */
  readonly progressed = new Condition();
  readonly store: VerificationStore;
  readonly #rechecks: Rechecks;
  readonly #followers: Record<Side, SideFollower>;
  readonly #planner: Planner;
  #hasCompared = false;
  #floor = noTimes;
  readonly #turn = new SerialQueue();
  #planning = false;
  #isFinalComparison = false;

  constructor(
    private readonly deps: VerifierDependencies,
    start: VerifierStart,
    /** Advances the streams of idle shards. */
    private readonly wake: (signal: AbortSignal) => Promise<void>,
  ) {
    this.store = new VerificationStore(deps);
    this.#rechecks = new Rechecks(deps, this.store);
    this.#followers = {
      source: new SideFollower('source', deps, this.store, start.source),
      destination: new SideFollower('destination', deps, this.store, start.destination),
    };
    this.#planner = new Planner(deps, this.store, this.#all());
  }

  /** Documents that differed at the latest check. */
  get mismatches(): number {
    return this.#rechecks.mismatches;
  }

  /** What differs with nothing in flight, as of the last pass over all that differed. */
  get lasting(): LastingDifferences {
    return this.mismatches === 0 ? noLastingDifferences : this.#rechecks.lasting;
  }

  /** Entries of the DDL journal up to which all own collections are planned; -1 while some are not. */
  get plannedUpTo(): number {
    return this.store.unplanned.length === 0 ? this.store.ordinal : -1;
  }

  /** Everything known at some time was compared; later collections may not be. */
  get hasCompared(): boolean {
    return this.#hasCompared;
  }

  /** How far checking is behind on a side. */
  lag_seconds(side: Side): number {
    return this.#followers[side].lag_seconds;
  }

  /** How far reading is behind on both sides, checked or not. */
  get readLag_seconds(): number {
    return Math.max(...this.#all().map(({ readLag_seconds }) => readLag_seconds));
  }

  /** Where another process would continue; null while plans are being made, or nothing is followed. */
  get settled(): VerifierStart | null {
    const { source, destination } = this.#followers;
    return this.#planning ? null : { source: source.settledBelow, destination: destination.settledBelow };
  }

  /** Takes over the durable state of the sync task. */
  async open(signal: AbortSignal): Promise<void> {
    await this.store.open();
    await this.#rechecks.open();
    await this.store.takeCatalog(signal);
    for (const follower of this.#all()) follower.begin();
  }

  /** Runs until the signal; rejects with the first failure. */
  async run(stop: AbortSignal): Promise<void> {
    await runTogether(stop, [
      (signal) => this.#plan(signal),
      ...Array.from({ length: this.deps.comparers }, () => (signal: AbortSignal) => this.#compare(signal)),
      (signal) => this.#follow('source', signal),
      (signal) => this.#follow('destination', signal),
      (signal) => this.#lookAtKeys(signal),
      (signal) => this.#lookAtMismatches(signal),
    ]);
  }

  /**
   * Finishes everything up to some times: reads both streams up to them, compares the rest, and checks every key that
   * was written and every document that differed.
   * @returns how many documents differ
   */
  async finalComparison(final: FinalComparison, signal: AbortSignal): Promise<number> {
    this.#isFinalComparison = true;
    try {
      const times = await this.#untilRead(final.times, signal);
      await this.#untilPlanned(signal);
      if (final.whole) await this.#compareCappedAgain(signal);
      for (;;) {
        while (!this.store.isCompared && this.mismatches < mismatchesMax) await this.deps.clock.sleep(poll_ms, signal);
        const isComplete = this.store.isCompared;
        const differing = await this.#turn.run(async () => {
          await this.#undisturbed(() => this.#rechecks.lookAtAll(times, signal), signal);
          return this.#undisturbed(
            () => this.#rechecks.lookAtMismatches(times, (entry_, kind) => isExpired(final, entry_, kind), signal),
            signal,
          );
        });
        if (isComplete || differing >= mismatchesMax) return differing;
      }
    } finally {
      this.#isFinalComparison = false;
    }
  }

  /** Own capped collections whose documents were inserted in another order, by their names on the destination. */
  async outOfOrder(times: KnownTimes, signal: AbortSignal): Promise<string[]> {
    const found: string[] = [];
    for (const { collection, plan } of this.store.streamed) {
      if (!collection.capped || plan === null) continue;
      const lookups = lookupsOn(this.deps, collection.on, latest([times, plan.times]), signal);
      if (!(await inSameInsertionOrder(lookups, this.deps.retrying))) found.push(shownName(collection.on.destination));
    }
    return found;
  }

  #all(): SideFollower[] {
    return [this.#followers.source, this.#followers.destination];
  }

  async #plan(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#undisturbed(() => this.#planNow(signal), signal);
      await this.#untilPlanningDue(signal);
    }
  }

  /** The first plans follow the end of the copy at once, and those of other tasks are read once they exist. */
  async #untilPlanningDue(signal: AbortSignal): Promise<void> {
    const { store } = this;
    const { clock, migration } = this.deps;
    const interval = (each: AbortSignal) => clock.sleep(store.isPlanned ? plan_ms : begin_ms, each);
    const copied = (each: AbortSignal) => migration.untilCopyDone(each);
    const planned = (each: AbortSignal) => migration.untilPlanned(store.ordinal, each);
    const isForOthers = !store.isPlanned && store.unplanned.length === 0;
    await clock.sleep(poll_ms, signal);
    if (this.#planner.hasBegun) await untilFirst(isForOthers ? [interval, planned] : [interval], signal);
    else await untilFirst([interval, copied], signal);
  }

  /** The stored position must not pass the times of plans that are not followed yet. */
  async #planNow(signal: AbortSignal): Promise<void> {
    await this.#turn.run(async () => {
      this.#planning = true;
      try {
        await this.store.takeCatalog(signal);
        for (const follower of this.#all()) follower.follow();
        if (!this.#planner.hasBegun) return;
        await this.#planner.planCopied(signal);
        await this.#planner.takePlans();
      } finally {
        this.#planning = false;
      }
      this.progressed.changed();
    });
  }

  /**
   * The caller of the final comparison knows that all sync tasks have planned their collections; what is left is to
   * read those plans.
   */
  async #untilPlanned(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#undisturbed(() => this.#planNow(signal), signal);
      if (this.store.isPlanned) return;
      await this.deps.clock.sleep(poll_ms, signal);
    }
  }

  /** Compares one part after the other; several run at once. */
  async #compare(stop: AbortSignal): Promise<void> {
    let disturbances = 0;
    for (;;) {
      const next = this.store.takePart();
      if (next === undefined) {
        this.#noteCompared();
        await this.#untilPart(stop);
        continue;
      }
      const { entry_, part } = next;
      const times = latest([this.#floor, entry_.plan?.times ?? this.#floor]);
      try {
        await comparePart({
          ...{ deps: this.deps, store: this.store, entry_, part, times, signal: stop },
          untilRoom: async (signal) => {
            while (this.mismatches >= mismatchesMax) await this.deps.clock.sleep(disturbed_ms, signal);
          },
          found: (count) => this.#rechecks.found(count),
        });
        disturbances = 0;
      } catch (error) {
        disturbances += 1;
        if (!(error instanceof CollectionLeftError) && !this.#passes(error, disturbances, stop)) throw error;
        await this.deps.clock.sleep(disturbed_ms, stop);
      } finally {
        this.store.release(part);
      }
    }
  }

  #noteCompared(): void {
    if (this.#hasCompared || !this.store.isPlanned || !this.store.isCompared) return;
    this.#hasCompared = true;
    this.progressed.changed();
  }

  /** Waits for a part to compare, which a plan brings at once, or a failure after a while. */
  async #untilPart(signal: AbortSignal): Promise<void> {
    const pause_ms = this.#isFinalComparison ? poll_ms : idle_ms;
    const interval = (each: AbortSignal) => this.deps.clock.sleep(pause_ms, each);
    const planned = (each: AbortSignal) => this.progressed.until(() => this.store.hasPart, each);
    await untilFirst([interval, planned], signal);
  }

  async #follow(side: Side, signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await this.#followers[side].run(signal);
      } catch (error) {
        if (!(error instanceof TouchesLostError)) throw error;
        await this.#beginAnew(side, signal);
      }
    }
  }

  /**
   * The writes in the meantime are unknown: this sync task compares every document again of the collections whose
   * changes it reads.
   */
  async #beginAnew(side: Side, signal: AbortSignal): Promise<void> {
    await this.#turn.run(async () => {
      const present = await knownTimes(this.deps, signal);
      this.#floor = latest([this.#floor, present]);
      this.#hasCompared = false;
      await this.store.compareAllAgain((entry_) => this.store.isOwn(entry_));
      this.#followers[side].restartAt(present[side]);
    });
  }

  async #lookAtKeys(signal: AbortSignal): Promise<void> {
    for (;;) {
      // Keys without room would stop the streams, for which the final comparison waits.
      while (this.deps.migration.isDraining && !this.store.keys.isFull) await this.deps.clock.sleep(idle_ms, signal);
      const found = await this.#turn.run(() =>
        this.#undisturbed(() => this.#rechecks.lookAtDue(this.#followers.source.clusterTime, signal), signal),
      );
      if (!found) await this.deps.clock.sleep(idle_ms, signal);
    }
  }

  /** One generation after the other, for at most half of the time. */
  async #lookAtMismatches(signal: AbortSignal): Promise<void> {
    let took_ms = 0;
    for (;;) {
      await this.deps.clock.sleep(Math.max(generation_ms, took_ms), signal);
      if (this.mismatches === 0 || this.deps.migration.isDraining) continue;
      const began_ms = this.deps.clock.monotonic_ms();
      await this.#turn.run(() => this.#undisturbed(() => this.#rereadMismatches(signal), signal));
      took_ms = this.deps.clock.monotonic_ms() - began_ms;
    }
  }

  async #rereadMismatches(signal: AbortSignal): Promise<void> {
    const { source } = await knownTimes(this.deps, signal);
    await this.#rechecks.rereadMismatches({ sourceTime: source }, signal);
  }

  async #compareCappedAgain(signal: AbortSignal): Promise<void> {
    await this.#turn.run(async () => {
      this.#floor = latest([this.#floor, await knownTimes(this.deps, signal)]);
      await this.store.compareAllAgain((entry_) => entry_.collection.capped && this.store.isOwn(entry_));
    });
  }

  /** @returns times at or after the given ones that both clusters have reached and the streams have read */
  async #untilRead(times: KnownTimes, signal: AbortSignal): Promise<KnownTimes> {
    const { clock } = this.deps;
    let woken_ms = -Infinity;
    let present = await knownTimes(this.deps, signal);
    const { source, destination } = this.#followers;
    for (;;) {
      const isReached = present.source >= times.source && present.destination >= times.destination;
      if (isReached && source.hasRead(times.source) && destination.hasRead(times.destination)) return present;
      if (clock.monotonic_ms() - woken_ms >= wake_ms) {
        await this.wake(signal);
        woken_ms = clock.monotonic_ms();
      }
      await clock.sleep(poll_ms, signal);
      if (!isReached) present = await knownTimes(this.deps, signal);
    }
  }

  async #undisturbed<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    for (let disturbances = 1; ; disturbances += 1) {
      try {
        return await work();
      } catch (error) {
        if (!this.#passes(error, disturbances, signal)) throw error;
        await this.deps.clock.sleep(disturbed_ms, signal);
      }
    }
  }

  /** Whether a DDL change in progress may cause a failure. */
  #passes(error: unknown, disturbances: number, signal: AbortSignal): boolean {
    return !signal.aborted && codeOf(error) !== null && disturbances < disturbancesMax;
  }
}

/**
 * The source may have deleted documents since the commit time; so may the destination, once its attributes are
 * restored.
 */
function isExpired({ expiring, whole }: FinalComparison, { collection }: BookedCollection, kind: string): boolean {
  const isPassing = kind === 'extraOnDestination' || (!whole && kind === 'missingOnDestination');
  return isPassing && expiring.has(collection.namespace);
}
