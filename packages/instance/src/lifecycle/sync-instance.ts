import { setMaxListeners } from 'node:events';
import type { Progress, MigrationState } from '@convoy/api/contract/progress';
import type { Mismatch, MismatchQuery } from '@convoy/api/contract/mismatch';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { ConvoyError, toConvoyError } from '@convoy/api/errors/convoy-error';
import type { Acceptance, ContractService } from '@convoy/api/http/contract-service';
import type { Failure, Fleet, InstanceIdentity } from '@convoy/api/fleet/fleet';
import type { ClusterClient } from '../cluster/node-client.js';
import { isNetworkFailure } from '../cluster/failure.js';
import { noteCommand, type RecordedCommandName } from '../store/fleet-commands.js';
import { Metadata } from '../store/metadata.js';
import { MigrationRecords, type MigrationRecord } from '../store/migration-record.js';
import { listenersMax } from '../store/run-together.js';
import { TaskRecords } from '../store/task-record.js';
import { raiseRelease } from '../store/take-over-release.js';
import {
  type Connect,
  connectConfigured,
  deferredSource,
  mayLackSource,
  openRecordedSource,
  openSource,
  requireClusterName,
  withRecordedShards,
} from './migration/clusters.js';
import { ConfiguredClusters } from './migration/configured-clusters.js';
import { readCommittedCatalog } from './migration/migration-dependencies.js';
import { acceptanceOf, type GivenCommand, isTaken } from './commands/fleet-command.js';
import { MissedCommands } from './commands/missed-commands.js';
import { refuseAfterFailure, refuseRecorded, unreachable } from './commands/command-refusals.js';
import { refuseOtherClusters } from './migration/fleet-clusters.js';
import { InstanceReporter, type InstanceStatus } from './progress/instance-reporter.js';
import { MigrationRun } from './run/migration-run.js';
import { readMismatches } from './leader/verification-mismatches.js';
import { recordMigration } from './commands/record-migration.js';
import { refuseNewerRelease } from './migration/release.js';
import { withTodaysNames } from './migration/former-metadata.js';
import { type Runtime, writeSessionsMax } from './migration/runtime.js';
import { checkReverse, openNextSource, readReversible, requireAnswer } from './commands/check-reverse.js';
import { homeOf } from '../store/reversal.js';
import type { MigrationView } from './migration/migration-watch.js';
import { requireState } from './commands/state-table.js';
import { refuseUpgradedSource } from './commands/upgraded-source.js';

/** One instance: it owns its state and takes the contract's commands. */
export class SyncInstance implements ContractService {
  readonly #ending = new AbortController();
  readonly #clusters: ConfiguredClusters;
  #source: ClusterClient | null = null;
  #run: MigrationRun | null = null;
  readonly #reporter: InstanceReporter;
  /** The present destination as the future source, from the command to reverse on. */
  #nextSource: ClusterClient | null = null;
  #turning: Promise<void> = Promise.resolve();
  #startFailure: Failure | null = null;
  #isInitialized = false;
  #commands: Promise<unknown> = Promise.resolve();
  #reporting: Promise<void> = Promise.resolve();
  readonly #missed: MissedCommands;
  #looking: Promise<void> = Promise.resolve();

  constructor(
    private readonly runtime: Runtime,
    private readonly fleet: Fleet,
    private readonly identity: InstanceIdentity,
    private readonly connect: Connect = connectConfigured,
  ) {
    setMaxListeners(listenersMax, this.#ending.signal);
    this.#clusters = new ConfiguredClusters(runtime, connect);
    this.#reporter = new InstanceReporter({
      runtime,
      fleet,
      identity,
      clusters: this.#clusters,
      status: () => this.#status(),
      mismatches: (query) => this.mismatches(query),
      refused: () => this.#missed.refused,
    });
    this.#missed = new MissedCommands({
      runtime,
      taskId: runtime.config.id ?? '',
      read: (signal) => this.#recorded(signal),
      service: this,
    });
    runtime.metrics.bufferBytesMax.set(runtime.config.memoryBytesMax);
  }

  /** Whether it takes commands. */
  get isReady(): boolean {
    return this.#isInitialized && this.#startFailure === null;
  }

  /** Why it takes none, in words that anybody may read. */
  get whyNotReady(): string {
    const { refusal, waitingFor } = this.#clusters;
    if (this.#startFailure !== null)
      return `The instance cannot start: ${refusal ?? `${this.#startFailure.error}; see its progress and its log.`}`;
    if (refusal !== null)
      return `${refusal} The instance waits for the other cluster, which shows whether it needs this one.`;
    if (waitingFor !== '') return `${waitingFor} The instance tries again.`;
    return (
      'The instance connects to both clusters and looks for the migration that it takes part in; ' +
      'try again shortly.'
    );
  }

  get state(): MigrationState {
    if (!this.#isInitialized) return 'INITIALIZING';
    return this.#run?.state ?? 'IDLE';
  }

  /** Connects, resumes this instance's part in a recorded migration, and starts to report. */
  async open(): Promise<void> {
    this.#reporting = this.#reporter.run(this.#ending.signal).catch(() => undefined);
    const { signal } = this.#ending;
    await this.#clusters.open(signal);
    await this.#restore(signal);
    this.#isInitialized = true;
    // A lone instance has no fleet whose commands it could miss.
    if (this.runtime.config.id !== undefined) this.#looking = this.#missed.run(signal).catch(() => undefined);
  }

  start(request: StartRequest, commandId?: string): Promise<Acceptance> {
    return this.#command({ name: 'start', commandId, request }, async (signal) => {
      const sourceName = requireClusterName(request.source);
      await this.#clusters.reach(sourceName, signal);
      const destination = await this.#clusters.reach(requireClusterName(request.destination), signal);
      refuseOtherClusters(this.#clusters.ids, this.fleet.reports());
      const records = new MigrationRecords(this.#metadata(destination));
      const recorded = await records.read(signal);
      if (recorded !== null) refuseRecorded(recorded, this.identity.release);
      const source = await openSource(this.runtime, sourceName, recorded?.access ?? null, signal, this.connect);
      try {
        await this.#begin(request, source, destination, recorded, commandId, signal);
      } catch (error) {
        if (this.#run === null) await source.close();
        throw error;
      }
    });
  }

  pause(commandId?: string): Promise<Acceptance> {
    return this.#command({ name: 'pause', commandId }, async (signal) => {
      await this.#running().pause(await this.#note('pause', commandId, signal));
    });
  }

  resume(commandId?: string): Promise<Acceptance> {
    return this.#command({ name: 'resume', commandId }, async (signal) => {
      await this.#running().resume(await this.#note('resume', commandId, signal));
    });
  }

  commit(commandId?: string): Promise<Acceptance> {
    return this.#command({ name: 'commit', commandId }, async (signal) => {
      const run = this.#running();
      await this.#reporter.offer.untilItStands(run, signal);
      if (!(await run.isCommitRequested(signal))) await refuseUpgradedSource(this.runtime.clock, run.deps, signal);
      await run.requestCommit();
    });
  }

  reverse(commandId?: string): Promise<Acceptance> {
    return this.#command({ name: 'reverse', commandId }, async (signal) => {
      const run = this.#running();
      const record = await readReversible(run, signal);
      await requireAnswer(this.runtime, run.deps.source, signal);
      await this.#clusters.reach(requireClusterName(record.source.name), signal);
      const next = (this.#nextSource ??= await openNextSource(this.runtime, record, this.connect, signal));
      const metadata = this.#metadata(run.deps.home);
      const records = new MigrationRecords(metadata);
      const committed = () => readCommittedCatalog({ watch: run, metadata }, signal);
      await checkReverse({ runtime: this.runtime, records, former: run.deps.source, next, record, committed, signal });
      await this.#note('reverse', commandId, signal);
      await run.requestReverse();
    });
  }

  progress(): Promise<Progress> {
    return this.#reporter.progress();
  }

  async *mismatches(query: MismatchQuery): AsyncGenerator<Mismatch> {
    const run = this.#run;
    if (run !== null)
      yield* readMismatches(
        this.#metadata(run.deps.home),
        run.view.record,
        run.failure !== null,
        query,
        this.#ending.signal,
      );
  }

  /** Ends cleanly: stages finish what is in flight, and the instance releases its identity and connections. */
  async close(): Promise<void> {
    this.#ending.abort(new ConvoyError('shuttingDown'));
    await this.#run?.close();
    await this.#turning;
    await this.#run?.close();
    await this.#looking;
    await this.#reporting;
    await this.#reporter.ended();
    await this.fleet.leave();
    await this.#source?.close();
    await this.#nextSource?.close();
    await this.#clusters.close();
  }

  /** Runs commands one after the other; a failed migration takes none. */
  #command(given: GivenCommand, run: (signal: AbortSignal) => Promise<void>): Promise<Acceptance> {
    const { name } = given;
    const timer = this.runtime.metrics.commandDuration.startTimer({ command: name });
    const result = this.#commands.then(async () => {
      refuseAfterFailure(this.#failure(), this.#run !== null);
      const acceptance = await this.#take(given, run, this.#ending.signal).catch((error: unknown) => {
        throw isNetworkFailure(error) ? unreachable(name, error) : error;
      });
      this.runtime.logger.info({ event: 'command', command: name }, 'command taken');
      this.#reporter.publish();
      return acceptance;
    });
    this.#commands = result.then(
      () => timer({ result: 'accepted' }),
      () => timer({ result: 'refused' }),
    );
    return result;
  }

  async #take(
    given: GivenCommand,
    run: (signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<Acceptance> {
    const metadataOf = (): Metadata => this.#metadata(this.#running().deps.home);
    if (!(await isTaken(this.#run, given, metadataOf, signal))) {
      requireState(given.name, this.state, this.whyNotReady);
      await run(signal);
    }
    return acceptanceOf(this.#run, given, signal);
  }

  async #begin(
    request: StartRequest,
    source: ClusterClient,
    destination: ClusterClient,
    recorded: MigrationRecord | null,
    commandId: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const ownIds = this.#ownIds(source);
    const { runtime, fleet, identity, connect } = this;
    const record = await recordMigration({
      runtime,
      fleet,
      release: identity.release,
      connect,
      request,
      source,
      destination,
      recorded,
      signal,
    });
    const metadata = this.#metadata(destination);
    if (commandId !== undefined) await noteCommand(metadata, 'start', commandId, signal);
    const tasks = new TaskRecords(metadata);
    const owner = { syncID: identity.syncID, incarnation: identity.incarnation };
    for (const id of ownIds) await tasks.take(id, owner, writeSessionsMax(runtime.config), signal);
    await this.#go(record, source, ownIds, signal);
    this.fleet.wake();
  }

  /**
   * Records a command of the whole fleet, and returns its number; for one of this instance alone, the number of the
   * fleet's last command, which it replaces here.
   */
  async #note(name: RecordedCommandName, commandId: string | undefined, signal: AbortSignal): Promise<number> {
    const run = this.#running();
    if (commandId !== undefined) return noteCommand(this.#metadata(run.deps.home), name, commandId, signal);
    return (await run.refresh(signal)).record.fleetCommands?.noted ?? 0;
  }

  /** The migration as it is now, in memory while it is kept there. A committed one matters while it can be reversed. */
  async #recorded(signal: AbortSignal): Promise<MigrationView | null> {
    const shown = this.#run?.view ?? null;
    if (shown !== null && shown.record.phase !== 'committed') return shown;
    if (shown !== null && (shown.record.reversal?.isOver ?? true)) return null;
    for (const [name, home] of this.#clusters.connected) {
      const metadata = this.#metadata(home);
      const record = await new MigrationRecords(metadata).read(signal);
      if (record?.fleetCommands === undefined || homeOf(record).name !== name) continue;
      const tasks = await new TaskRecords(metadata).readAll(signal);
      return { record, tasks: new Map(tasks.map((task) => [task._id, task])) };
    }
    return null;
  }

  async #restore(signal: AbortSignal): Promise<void> {
    for (const [name, home] of this.#clusters.connected) {
      const metadata = this.#metadata(home);
      const recorded = await new MigrationRecords(metadata).read(signal);
      if (recorded === null || homeOf(recorded).name !== name) continue;
      const { release } = this.identity;
      refuseNewerRelease(recorded.release, release);
      if (homeOf(recorded).clusterId !== home.clusterId) throw new ConvoyError('wrongCluster');
      const record = await withTodaysNames(metadata, recorded, release, signal);
      if (record === null) return;
      const source = mayLackSource(record)
        ? deferredSource(this.runtime, record, this.connect)
        : await openRecordedSource(this.runtime, record, signal, this.connect);
      const ownIds = this.#ownIds(source, record);
      const tasks = await new TaskRecords(metadata).readAll(signal);
      const started = ownIds.every((id) => tasks.some((task) => task._id === id && task.started));
      if (started) await this.#go(await raiseRelease(metadata, record, release, signal), source, ownIds, signal);
      else await source.close();
      return;
    }
  }

  async #go(
    record: MigrationRecord,
    source: ClusterClient,
    ownIds: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const home = this.#clusters.get(requireClusterName(homeOf(record).name));
    const destination = await this.#clusters.reach(requireClusterName(record.destination.name), signal);
    const tasks = await new TaskRecords(this.#metadata(home)).readAll(signal);
    this.#source = source;
    const run = new MigrationRun({
      runtime: this.runtime,
      fleet: this.fleet,
      source: withRecordedShards(source, record),
      destination,
      home,
      ownIds,
      owner: { syncID: this.identity.syncID, incarnation: this.identity.incarnation },
      initial: { record, tasks: new Map(tasks.map((task) => [task._id, task])) },
    });
    this.#run = run;
    run.begin();
    this.#reporter.follow(run, signal);
    this.#turning = this.#followSwap(run).catch((error: unknown) => {
      if (!this.#ending.signal.aborted) this.fail(toConvoyError(error));
    });
  }

  /** Once the clusters are swapped, the same tasks sync in the other direction. */
  async #followSwap(run: MigrationRun): Promise<void> {
    if (!(await run.untilSwapped())) return;
    const { signal } = this.#ending;
    const { record } = await run.refresh(signal);
    await run.close();
    const source = this.#nextSource ?? (await openRecordedSource(this.runtime, record, signal, this.connect));
    this.#nextSource = null;
    await this.#source?.close();
    await this.#go(record, source, run.deps.ownIds, signal);
    this.#reporter.publish();
  }

  /** The configured shard, or all of them for a lone instance. */
  #ownIds(source: ClusterClient, record: MigrationRecord | null = null): readonly string[] {
    const { id } = this.runtime.config;
    const taskIds = record?.taskIds ?? source.shardIds;
    if (id === undefined) return taskIds;
    if (taskIds.includes(id)) return [id];
    throw new ConvoyError(
      'shardUnknown',
      `The configured id ${id} is not a shard of the source; it has: ${taskIds.join(', ')}.`,
    );
  }

  #metadata(destination: ClusterClient): Metadata {
    return new Metadata(destination.router, this.runtime.retrying);
  }

  #running(): MigrationRun {
    if (this.#run === null) throw new ConvoyError('notReady');
    return this.#run;
  }

  #failure(): Failure | null {
    return this.#startFailure ?? this.#run?.failure ?? null;
  }

  /** Records a failure that keeps the instance from taking commands. */
  fail(failure: Failure): void {
    this.#startFailure = failure;
    this.#isInitialized = true;
  }

  #status(): InstanceStatus {
    return { isInitialized: this.#isInitialized, state: this.state, run: this.#run, failure: this.#failure() };
  }
}
