import { isDeepStrictEqual } from 'node:util';
import { parseInstanceConfig } from '../../../src/config/instance-config.js';
import { createRuntime } from '../../../src/lifecycle/migration/runtime.js';
import { createLogger } from '../../../src/logging/logger.js';
import { Metrics } from '../../../src/metrics/metrics.js';
import type { Faults } from './calls.js';
import type { NamedCollection } from './change-events.js';
import { carryOutStep, type DdlStep } from './ddl.js';
import { DestinationModel } from './destination-model.js';
import { LeaderModel } from './leader-model.js';
import { randomOf, Scheduler } from './scheduler.js';
import { TaskOwner } from './task-owner.js';
import { entryOf, routerView, shardView, type TaskView } from './task-view.js';
import { SourceHistory, type SourceShard } from './source-history.js';
import { modelIds, type Step } from './workload.js';

const nothingAbove = { writes: 0, createsAndDrops: 0, deletedIn: new Set() };

/** Everything that a run of the model depends on. */
export interface WorldOptions {
  seed: number;
  shards: number;
  /**
   * How the source is read. With task bounds, as places among the model's `_id`s: through its router; null: directly.
   */
  bounds: readonly number[] | null;
  /** Chance per moment that the source changes. */
  pace: number;
  /** Documents before the migration begins, and while it runs. */
  before: readonly Step[];
  during: readonly (Step | DdlStep)[];
  /** Changes after the commit time, which must not arrive. */
  after: readonly (Step | DdlStep)[];
  faults: Faults;
  /** Chance per moment that a process ends, and in which way. */
  ends: { stop: number; crash: number; freeze: number };
  /** With DDL changes: what streams show, and the chance per moment that another leader takes over. */
  ddlChanges?: { showsCreations: boolean; showsEachCopy: boolean; leaderEnds: number };
  /** Shards are copied in the order of their records. Chance per moment that a shard elects another primary. */
  inRecordOrder?: { elections: number };
  /** From this number of pending re-reads on, a range of them is copied again; without it never. */
  rereadRequestsMax?: number;
}

/** A run that has not settled after so many moments never will. */
const momentsMax = 60_000;
/** Moments after the commit in which nothing may change any more. */
const lateMoments = 200;

const config = parseInstanceConfig({ flags: { cluster0: 'mongodb://source', cluster1: 'mongodb://destination' } });
const logger = createLogger({ verbosity: 'FATAL' });

/** A source, a destination and the processes between them, with every moment chosen by the seed. */
export class World {
  readonly source: SourceHistory;
  readonly destination = new DestinationModel(2);
  readonly #scheduler: Scheduler;
  readonly #owners: TaskOwner[] = [];
  readonly #former: TaskOwner[] = [];
  readonly #violations: string[] = [];
  readonly #after: (Step | DdlStep)[];
  #atStart: NamedCollection[] = [];
  #leader: LeaderModel | null = null;
  #moments = 0;

  constructor(private readonly input: WorldOptions) {
    this.#scheduler = new Scheduler(randomOf(input.seed));
    this.source = new SourceHistory(input.shards);
    this.source.catalog.showsCreations = input.ddlChanges?.showsCreations ?? false;
    this.source.catalog.showsEachCopy = input.ddlChanges?.showsEachCopy ?? true;
    this.#after = [...input.after];
  }

  /**
   * Runs the migration to its commit time, anew while the source shows later changes that were applied.
   * @returns documents of source and destination at that time
   * @throws what ends a process, or when nothing settles
   */
  async run(): Promise<{ expected: string[]; found: string[]; violations: string[] }> {
    for (const step of this.input.before) carryOutStep(this.source, step);
    for (const shard of this.source.shards) this.source.note(shard);
    this.#initialise();
    this.source.shards.forEach((_, index) => this.#own(index));
    await this.#during();
    await this.#until(() => {
      this.#replaceEnded();
      return this.#owners.every(({ sync }) => sync?.stats().copyDone === true);
    });
    const commit = await this.#commit();
    this.#leader?.crash();
    const expected = this.source.stateAt(commit);
    for (const step of this.#after.splice(0)) carryOutStep(this.source, step);
    for (let moment = 0; moment < lateMoments; moment += 1) await this.#moment();
    for (const owner of [...this.#owners, ...this.#former]) owner.stop();
    await this.#until(() => this.#owners.every(({ ended }) => ended));
    return { expected, found: this.destination.state(), violations: this.#violations };
  }

  /** Collections as they are found before anything is copied, made on the destination. */
  #initialise(): void {
    this.#atStart = this.source.catalog.namesAt(this.source.now);
    for (const { uuid, name } of this.#atStart) this.destination.make(uuid, name);
    if (this.input.ddlChanges === undefined) return;
    const migration = { _id: 'migration', leaderEpoch: 0, ddlChanges: { known: 0, done: 0 }, ddlWatermark: null };
    this.destination.metadata.run({
      update: 'migration',
      updates: [{ q: { _id: 'migration' }, u: migration, upsert: true }],
    });
    this.#lead();
  }

  #lead(): void {
    this.#leader?.crash();
    const { source, destination } = this;
    const { retrying } = createRuntime(config, this.#scheduler, logger, new Metrics({ processMetrics: false }));
    const leader = {
      source,
      destination,
      scheduler: this.#scheduler,
      faults: this.input.faults,
      retrying,
      atStart: this.#atStart,
    };
    this.#leader = new LeaderModel({
      ...leader,
      entryOf: (collection) =>
        entryOf(
          collection,
          this.#bounds(),
          source.shards.map(({ id }) => id),
        ),
    });
    this.#leader.begin();
  }

  /** Rounds as a leader makes them. */
  async #commit(): Promise<bigint> {
    for (;;) {
      const commit = this.#timeAboveAll();
      if (this.#leader !== null) await this.#untilLeaderSettled(commit);
      await this.#drain(commit);
      const isClean = this.#owners.every(({ sync }) => isDeepStrictEqual(sync?.stats().lateWrites, nothingAbove));
      if (isClean && (this.#leader === null || (this.#leader.isSettled(commit) && !this.#leader.changedAfter(commit))))
        return commit;
    }
  }

  /** A process that ends in the meantime gets a successor: entries need the acknowledgement of all tasks. */
  #untilLeaderSettled(time: bigint): Promise<void> {
    return this.#until(() => {
      this.#replaceEnded();
      return this.#leader?.isSettled(time) === true;
    });
  }

  /** Through a router before 6.0 it is a time without notes: idle shards advance with their periodic no-ops only. */
  #timeAboveAll(): bigint {
    if (this.input.bounds !== null) return this.source.now;
    const times = this.source.shards.map((shard) => this.source.note(shard));
    for (const shard of this.source.shards) this.source.note(shard);
    return times.reduce((a, b) => (a > b ? a : b));
  }

  #view(shard: SourceShard): TaskView {
    if (this.input.bounds === null)
      return shardView(this.source, shard, this.#atStart, this.input.inRecordOrder !== undefined);
    return routerView(this.source, shard, this.#bounds(), this.#atStart);
  }

  #bounds() {
    const { bounds, shards } = this.input;
    return (bounds ?? []).slice(0, shards - 1).flatMap((place) => modelIds[place] ?? []);
  }

  #own(index: number): void {
    const shard = this.source.shards[index];
    if (shard === undefined) throw new Error('no such shard');
    const violation = (what: string): void => void this.#violations.push(what);
    const owner = new TaskOwner(
      this.#view(shard),
      this.destination,
      this.#scheduler,
      this.input.faults,
      violation,
      this.input.bounds !== null,
      this.input.ddlChanges !== undefined,
      this.input.rereadRequestsMax,
      // A piece of every batch.
      this.input.inRecordOrder === undefined ? undefined : 0,
    );
    this.#owners[index] = owner;
    owner.begin();
  }

  async #during(): Promise<void> {
    const left = [...this.input.during];
    while (left.length > 0) {
      if (this.#scheduler.chance(this.input.pace)) {
        const step = left.shift();
        if (step !== undefined) carryOutStep(this.source, step);
      }
      this.#maybeEnd();
      await this.#moment();
    }
  }

  /** Ends a process now and then; another one takes its task at once, or while a frozen one continues. */
  #maybeEnd(): void {
    if (this.#leader !== null && this.#scheduler.chance(this.input.ddlChanges?.leaderEnds ?? 0)) this.#lead();
    for (const shard of this.source.shards)
      if (this.#scheduler.chance(this.input.inRecordOrder?.elections ?? 0))
        shard.elect((min, max) => this.#scheduler.between(min, max));
    const { stop, crash, freeze } = this.input.ends;
    for (const [index, owner] of this.#owners.entries()) {
      const [stops, crashes, freezes] = [
        this.#scheduler.chance(stop),
        this.#scheduler.chance(crash),
        this.#scheduler.chance(freeze),
      ];
      if (stops) owner.stop();
      else if (crashes) owner.crash();
      if (freezes) this.#former.push(owner);
      if (freezes || owner.ended || crashes) this.#replace(index, owner);
    }
  }

  #replaceEnded(): void {
    for (const [index, owner] of this.#owners.entries()) if (owner.ended) this.#replace(index, owner);
  }

  #replace(index: number, owner: TaskOwner): void {
    if (owner.failure !== null) throw owner.failure as Error;
    this.#own(index);
  }

  async #drain(commit: bigint): Promise<void> {
    const drained = new Set<TaskOwner>();
    const asked = new Set<TaskOwner>();
    await this.#until(() => {
      const step = this.#scheduler.chance(this.input.pace) ? this.#after.shift() : undefined;
      if (step !== undefined) carryOutStep(this.source, step);
      this.#replaceEnded();
      for (const owner of this.#owners) {
        if (owner.sync === null || asked.has(owner)) continue;
        asked.add(owner);
        owner.sync
          .drain(commit, () => false, new AbortController().signal)
          .then(
            () => drained.add(owner),
            () => undefined,
          );
      }
      return this.#owners.every((owner) => drained.has(owner));
    });
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition()) await this.#moment();
  }

  async #moment(): Promise<void> {
    this.#moments += 1;
    if (this.#moments > momentsMax) throw new Error(`nothing settles: ${this.#describe()}`);
    for (const owner of [...this.#owners, ...this.#former]) if (owner.failure !== null) throw owner.failure as Error;
    if (this.#leader !== null && this.#leader.failure !== null) throw this.#leader.failure as Error;
    if (this.#leader?.deposed === true) this.#lead();
    if (this.#scheduler.chance(0.01)) for (const shard of this.source.shards) this.source.note(shard);
    await this.#scheduler.step();
  }

  #describe(): string {
    const owners = this.#owners.map(({ sync, ended }) => ({ ended, ...sync?.stats() }));
    const leader = this.#leader === null ? null : this.#leader.describe();
    return JSON.stringify({ owners, leader, now: this.source.now }, (_key, value: unknown) =>
      typeof value === 'bigint' ? value.toString() : value,
    );
  }
}
