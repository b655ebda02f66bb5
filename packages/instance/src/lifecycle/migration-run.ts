import { setMaxListeners } from 'node:events';
import type { Warning, MigrationState } from '@convoy/api/contract/progress';
import { ConvoyError, toConvoyError } from '@convoy/api/errors/convoy-error';
import type { Failure, Fleet } from '@convoy/api/fleet/fleet';
import type { IndexBuildProgress } from '../catalog/create-collections.js';
import type { Cluster } from '../cluster/door.js';
import { listenersMax } from '../store/run-together.js';
import { Metadata } from '../store/metadata.js';
import { MigrationRecords } from '../store/migration-record.js';
import { type ShareRecord, ShareRecords } from '../store/share-record.js';
import { leadWhenElected } from './leader.js';
import { syncShares } from './member.js';
import type { MigrationContext } from './migration-context.js';
import { type MigrationView, MigrationWatch } from './migration-watch.js';
import { type Runtime, writeSessionsMax } from './runtime.js';
import type { ShareFigures, ShareSync } from './share-sync.js';

/** Servers forget sessions, and with them the fence against former owners, after 30 minutes without use. */
const sessionRefresh_ms = 5 * 60_000;

/** Writes in flight when everything is to end are given this long; then their connections are cut. */
const hardStop_ms = 4000;

/** What a run is made of. */
export interface MigrationRunInput {
  runtime: Runtime;
  fleet: Fleet;
  source: Cluster;
  destination: Cluster;
  /** The shares of this process. */
  ownIds: readonly string[];
  owner: ShareRecord['owner'];
  initial: MigrationView;
}

/** One process's part in one migration, from its start (or its own restart) to COMMITTED or a failure. */
export class MigrationRun {
  readonly #records: MigrationRecords;
  readonly #shares: ShareRecords;
  readonly #watch: MigrationWatch;
  readonly #metadata: Metadata;
  readonly #end = new AbortController();
  readonly #hard = new AbortController();
  #pause = new AbortController();
  #syncs: readonly ShareSync[] = [];
  #figures: readonly ShareFigures[] = [];
  #failure: Failure | null = null;
  #indexBuilding: IndexBuildProgress | null = null;
  #work: Promise<void> = Promise.resolve();
  #member: Promise<void> = Promise.resolve();
  /** The shares as this process has taken them; empty while it has not, or could not. */
  #taken: Promise<readonly ShareRecord[]> = Promise.resolve([]);

  constructor(readonly input: MigrationRunInput) {
    setMaxListeners(listenersMax, this.#end.signal, this.#hard.signal);
    const { runtime, fleet, destination } = input;
    this.#metadata = new Metadata(destination.router, runtime.retrying);
    this.#records = new MigrationRecords(this.#metadata);
    this.#shares = new ShareRecords(this.#metadata);
    this.#watch = new MigrationWatch(this.#records, this.#shares, fleet, runtime, input.initial);
  }

  get view(): MigrationView {
    return this.#watch.view;
  }

  /** The migration's failure, or what ended this process's own part. */
  get failure(): Failure | null {
    return this.#failure ?? this.view.record.failure;
  }

  get indexBuilding(): IndexBuildProgress | null {
    return this.#indexBuilding;
  }

  /** Figures of the own shares, the last known ones while none runs. */
  get figures(): readonly ShareFigures[] {
    if (this.#syncs.length > 0) this.#figures = this.liveFigures;
    return this.#figures;
  }

  /** Figures of the own shares that run just now. */
  get liveFigures(): readonly ShareFigures[] {
    return this.#syncs.map((sync) => sync.figures());
  }

  get state(): MigrationState {
    const { record, shares } = this.view;
    const own = this.input.ownIds.flatMap((id) => shares.get(id) ?? []);
    if (record.phase === 'committed') return 'COMMITTED';
    if (own.length > 0 && own.every((share) => share.commitRequested)) return 'COMMITTING';
    if (own.length > 0 && own.every((share) => share.paused)) return 'PAUSED';
    return 'RUNNING';
  }

  /** Begins the work in the background. */
  begin(): void {
    if (this.failure !== null) return;
    this.#work = Promise.all([
      this.#guarded(this.#end.signal, (signal) => this.#watch.run(signal)),
      this.#guarded(this.#end.signal, (signal) => leadWhenElected(this.#context(), signal)),
      this.#guarded(this.#end.signal, (signal) => this.#keepSessions(signal)),
    ]).then(() => undefined);
    this.#member = this.#guarded(AbortSignal.any([this.#end.signal, this.#pause.signal]), (stop) => this.#follow(stop));
    void this.#watchFailure();
  }

  /** Stops the stations after what is in flight, durably. */
  async pause(): Promise<void> {
    await this.#setOwn({ paused: true });
    this.#pause.abort(new ConvoyError('notReady', 'paused'));
    await this.#member;
  }

  /** Lets the stations go on where they stopped. */
  async resume(): Promise<void> {
    await this.#setOwn({ paused: false });
    this.#pause = new AbortController();
    this.#member = this.#guarded(AbortSignal.any([this.#end.signal, this.#pause.signal]), (stop) => this.#follow(stop));
  }

  /** Records that this process's shares are to be committed; the leader begins when all of the fleet's are. */
  async requestCommit(): Promise<void> {
    await this.#setOwn({ commitRequested: true });
    this.input.fleet.nudge();
  }

  /** Ends the work cleanly within seconds; the durable state stays. */
  async close(): Promise<void> {
    this.#end.abort(new ConvoyError('shuttingDown'));
    const timer = setTimeout(() => this.#hard.abort(new ConvoyError('shuttingDown')), hardStop_ms);
    await Promise.allSettled([this.#work, this.#member]);
    clearTimeout(timer);
    this.#hard.abort(new ConvoyError('shuttingDown'));
  }

  warnings(): Warning[] {
    const { record, shares } = this.view;
    const missing = record.shareIds.filter((id) => shares.get(id)?.started !== true);
    const warnings: Warning[] = [...record.warnings];
    if (missing.length > 0) {
      warnings.push({ name: 'waitingForInstances', description: `Waiting until these instances are started too: ${missing.join(', ')}.` });
    }
    for (const { what, attempt, failure } of this.input.runtime.retries.values()) {
      warnings.push({ name: 'retrying', description: `${what} has failed ${attempt} times (${failure}) and is tried again.` });
    }
    return warnings;
  }

  async #follow(stop: AbortSignal): Promise<void> {
    const { input } = this;
    const view = this.view;
    if (input.ownIds.every((id) => view.shares.get(id)?.paused === true)) return;
    if (view.record.phase === 'committed') return;
    const taking = this.#take(stop);
    this.#taken = taking.catch(() => []);
    const owned = await taking;
    try {
      await syncShares(this.#context(), owned, (syncs) => (this.#syncs = syncs), stop, this.#hard.signal);
    } finally {
      this.#figures = this.liveFigures;
      this.#syncs = [];
    }
  }

  async #take(stop: AbortSignal): Promise<ShareRecord[]> {
    const { ownIds, owner, runtime } = this.input;
    const owned: ShareRecord[] = [];
    for (const id of ownIds) owned.push(await this.#shares.take(id, owner, writeSessionsMax(runtime.config), stop));
    await this.#watch.refresh(stop);
    return owned;
  }

  /** Keeps the servers from forgetting the write sessions, paused ones too, until the migration is committed. */
  async #keepSessions(signal: AbortSignal): Promise<void> {
    const { runtime, destination, ownIds } = this.input;
    while (this.view.record.phase !== 'committed') {
      await runtime.clock.sleep(sessionRefresh_ms, signal);
      const sessions = ownIds.flatMap((id) => this.view.shares.get(id)?.sessions ?? []);
      const refreshSessions = sessions.map((id) => ({ id }));
      await runtime.retrying('refresh sessions', () => destination.router.command('admin', { refreshSessions }, { signal }), signal);
    }
  }

  #context(): MigrationContext {
    const { runtime, fleet, source, destination } = this.input;
    return {
      runtime,
      fleet,
      source,
      destination,
      metadata: this.#metadata,
      records: this.#records,
      shareRecords: this.#shares,
      watch: this.#watch,
      onIndexProgress: (progress) => (this.#indexBuilding = progress),
    };
  }

  async #setOwn(set: Partial<ShareRecord>): Promise<void> {
    const taken = await this.#taken;
    for (const id of this.input.ownIds) {
      // Under the epoch of this process: one that has been replaced must not speak for its successor.
      const own = taken.find((share) => share._id === id) ?? this.view.shares.get(id);
      const epoch = own?.epoch ?? 0;
      await this.#shares.update(id, epoch, set, this.#end.signal);
    }
    await this.#watch.refresh(this.#end.signal);
  }

  /** A failure of any instance ends the work of all. */
  async #watchFailure(): Promise<void> {
    await this.#watch.until(({ record }) => record.failure !== null, this.#end.signal).catch(() => undefined);
    const failure = this.view.record.failure;
    if (failure === null) return;
    this.input.runtime.logger.error({ event: 'migrationFailed', ...failure }, 'the migration has failed');
    this.#end.abort(new ConvoyError(failure.error, failure.errorDescription));
  }

  /** Runs work until its signal; what else ends it is a failure of the migration. */
  async #guarded(stop: AbortSignal, work: (stop: AbortSignal) => Promise<void>): Promise<void> {
    try {
      await work(stop);
    } catch (error) {
      if (!stop.aborted) await this.#fail(error);
    }
  }

  async #fail(thrown: unknown): Promise<void> {
    const { runtime, fleet } = this.input;
    const { error, errorDescription } = toConvoyError(thrown);
    runtime.logger.error({ event: 'failed', error, err: thrown }, 'this instance has met a failure');
    this.#failure = { error, errorDescription };
    if (error !== 'staleEpoch') {
      await this.#records.fail({ error, errorDescription }, this.#hard.signal).catch(() => undefined);
      fleet.nudge();
    }
    this.#end.abort(new ConvoyError(error, errorDescription));
  }
}
