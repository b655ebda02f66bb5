import type { Binary, Timestamp } from 'mongodb';
import { runTogether } from '../../async/together.js';
import { SerialQueue } from '../../async/waiting.js';
import { restoredValue } from '../../bson/sent-value.js';
import { expires } from '../../catalog/collection-options.js';
import { timeOf, timestampOf, wakeStreams } from '../../cluster/cluster-time.js';
import { shownName } from '../../cluster/time-series.js';
import type { TaskVerification } from '../../store/task-record.js';
import { VerificationStorage } from '../../store/task-storage.js';
import { TaskVerifier } from '../../verify/embedded/task-verifier.js';
import type { VerifierDependencies } from '../../verify/embedded/verification-plan.js';
import { readCommittedCatalog } from '../migration/migration-catalogs.js';
import { type MigrationDependencies, wakeSource } from '../migration/migration-dependencies.js';
import { noteDifferences } from '../migration/mismatches.js';
import { copyOfKey, ObservedMigration } from './observed-migration.js';
import type { SyncPipeline } from './sync-pipeline.js';
import { VerificationReadiness, type VerificationStats, verificationStats } from './verification-stats.js';

/** Interval of storing a verifier's stats; other changes are stored at once. */
const save_ms = 1_000;
/** While anything differs, the task looks for documents to re-read at this interval, this many at once. */
const reread_ms = 1_000;
const takenMax = 500;
/** Fraction of a process's memory bound for pending keys. */
const keysPart = 16;

/** Verifies one sync task until the destination opens, and makes the final comparisons that the leader asks for. */
export class VerifiedTask {
  readonly #verifier: TaskVerifier;
  readonly #storage: VerificationStorage;
  #answered: Pick<TaskVerification, 'answered' | 'mismatches'>;
  #saved = '';
  #sealed: { epoch: number | null; expiring: ReadonlySet<string> } | null = null;
  readonly #saving = new SerialQueue();
  readonly #readiness = new VerificationReadiness();

  /** @param tasks of this process, which share its memory */
  constructor(
    private readonly deps: MigrationDependencies,
    private readonly sync: SyncPipeline,
    before: TaskVerification | null,
    tasks: number,
    private readonly hard: AbortSignal,
  ) {
    this.#answered = { answered: before?.answered ?? 0, mismatches: before?.mismatches ?? 0 };
    const wake = async (signal: AbortSignal) => {
      await Promise.all([
        wakeSource(deps, signal),
        deps.runtime.retrying('wake the destination', () => wakeStreams(deps.destination, { signal }), signal),
      ]);
    };
    const { source, destination } = before?.settled ?? { source: null, destination: null };
    const start = { source: source?.toBigInt() ?? null, destination: destination?.toBigInt() ?? null };
    this.#storage = new VerificationStorage(deps.metadata, sync.taskId, sync.epoch, hard);
    this.#verifier = new TaskVerifier(verifierDependencies(deps, sync, tasks, this.#storage), start, wake);
  }

  get taskId(): string {
    return this.sync.taskId;
  }

  /** The present stats. */
  stats(): VerificationStats {
    return verificationStats(this.#verifier, this.#readiness);
  }

  /** Whether everything has been compared for the first time. */
  get hasCompared(): boolean {
    return this.#verifier.hasCompared;
  }

  /** Resolves once it has. */
  async untilCompared(signal: AbortSignal): Promise<void> {
    await this.#verifier.progressed.until(() => this.hasCompared, signal);
  }

  /** Runs until the destination is about to open; what users write from then on is theirs. */
  async run(stop: AbortSignal): Promise<void> {
    const { watch } = this.deps;
    const opened = new AbortController();
    const signal = AbortSignal.any([stop, opened.signal]);
    const untilOpened = async (each: AbortSignal) => {
      await watch.until(({ record }) => record.phase === 'opening' || record.phase === 'committed', each);
      opened.abort();
    };
    const work = async (each: AbortSignal) => {
      await this.#verifier.open(each);
      await runTogether(each, [
        (own) => this.#verifier.run(own),
        (own) => this.#keep(own),
        (own) => this.#keepPlanned(own),
        (own) => this.#reread(own),
        (own) => this.#answer(own),
      ]);
    };
    await runTogether(signal, [untilOpened, work]).catch((error: unknown) => {
      if (!opened.signal.aborted || stop.aborted) throw error;
    });
  }

  async #keep(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#save();
      await this.deps.runtime.clock.sleep(save_ms, signal);
    }
  }

  /** A commit waits for the plans of all changes that it contains; the verifiers of other tasks read them. */
  async #keepPlanned(signal: AbortSignal): Promise<void> {
    for (let stored = -1; ;) {
      await this.#verifier.progressed.until(() => this.#verifier.plannedUpTo > stored, signal);
      stored = this.#verifier.plannedUpTo;
      await this.#save();
      this.deps.fleet.wake();
    }
  }

  /** Requests re-reads of permanent differences on the own shard, whichever task has found them. */
  async #reread(signal: AbortSignal): Promise<void> {
    const { watch, runtime } = this.deps;
    const anyDiffers = () =>
      [...watch.view.tasks.values()].some(({ verification }) => (verification?.differing ?? 0) > 0);
    for (;;) {
      await runtime.clock.sleep(reread_ms, signal);
      if (watch.view.record.phase === 'syncing' && anyDiffers()) await this.#takeGiven(signal);
    }
  }

  async #takeGiven(signal: AbortSignal): Promise<void> {
    const given = await this.#storage.givenToReread(takenMax);
    for (const copy of new Set(given.map(({ key }) => copyOfKey(String(key))))) {
      const documents = given.filter(({ key }) => copyOfKey(String(key)) === copy);
      if (
        !(await this.sync.readAnew(
          copy,
          documents.map(({ id }) => restoredValue(id as Binary)),
          signal,
        ))
      )
        return;
      await this.#storage.taken(documents.map(({ _id }) => String(_id)));
    }
  }

  async #answer(signal: AbortSignal): Promise<void> {
    const { watch } = this.deps;
    for (;;) {
      const { record } = await watch.until(
        (view) => (view.record.verification?.number ?? 0) > this.#answered.answered,
        signal,
      );
      const { verification } = record;
      if (verification === null || verification === undefined) continue;
      const times = { source: timeOf(verification.source), destination: timeOf(verification.destination) };
      const expiring = await this.#expiring(signal);
      const mismatches = await this.#verifier.finalComparison(
        { times, expiring, whole: !verification.restored },
        signal,
      );
      const outOfOrder = verification.restored ? [] : await this.#verifier.outOfOrder(times, signal);
      await noteDifferences(
        this.deps,
        outOfOrder.map((namespace) => ({
          kind: 'order',
          namespace,
          detail: 'the documents were inserted in another order',
        })),
        signal,
      );
      this.#answered = { answered: verification.number, mismatches: mismatches + outOfOrder.length };
      await this.#save();
      this.deps.fleet.wake();
    }
  }

  /**
   * Collections whose documents servers delete by themselves, read once for both final comparisons: the sealed catalog
   * stays.
   */
  async #expiring(signal: AbortSignal): Promise<ReadonlySet<string>> {
    const epoch = this.deps.watch.view.record.commit?.catalogEpoch ?? null;
    if (this.#sealed === null || this.#sealed.epoch !== epoch) {
      const catalog = await readCommittedCatalog(this.deps, signal);
      this.#sealed = { epoch, expiring: new Set(catalog.filter(expires).map(shownName)) };
    }
    return this.#sealed.expiring;
  }

  /** Stores the progress of the task, after the store in flight: an earlier answer never follows a later one. */
  #save(): Promise<void> {
    return this.#saving.run(() => this.#saveNow());
  }

  async #saveNow(): Promise<void> {
    const { settled, plannedUpTo } = this.#verifier;
    if (settled === null) return;
    const stored = { source: nullableTimestamp(settled.source), destination: nullableTimestamp(settled.destination) };
    const verification: TaskVerification = {
      ...this.#answered,
      differing: this.#verifier.mismatches,
      planned: plannedUpTo,
      settled: stored,
      stats: this.stats(),
    };
    const text = JSON.stringify(verification);
    if (text === this.#saved) return;
    await this.deps.taskRecords.update(this.taskId, this.sync.epoch, { verification }, this.hard);
    this.#saved = text;
  }
}

function verifierDependencies(
  deps: MigrationDependencies,
  sync: SyncPipeline,
  tasks: number,
  storage: VerificationStorage,
): VerifierDependencies {
  const { runtime, source, destination } = deps;
  return {
    source,
    destination,
    storage,
    clock: runtime.clock,
    retrying: runtime.retrying,
    waits: runtime.waits,
    migration: new ObservedMigration(deps, sync),
    task: source.shardIds.indexOf(sync.taskId),
    tasks: source.shardIds.length,
    comparers: Math.max(1, Math.floor(runtime.config.readers / tasks)),
    keysBytesMax: Math.floor(runtime.config.memoryBytesMax / keysPart / tasks),
  };
}

function nullableTimestamp(time: bigint | null): Timestamp | null {
  return time === null ? null : timestampOf(time);
}
