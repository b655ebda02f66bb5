import { setMaxListeners } from 'node:events';
import type { Inventory } from '@convoy/api/contract/inventory';
import type { Mismatch, MismatchQuery } from '@convoy/api/contract/mismatch';
import type { MigrationState, Progress } from '@convoy/api/contract/progress';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Failure, Fleet, InstanceIdentity, InstanceReport } from '@convoy/api/fleet/fleet';
import type { Acceptance, ContractService } from '@convoy/api/http/contract-routes';
import { listenersMax } from '../../async/together.js';
import { namedFailure } from '../../cluster/named-failure.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { takeInventory } from '../../inventory/take-inventory.js';
import { noteCommand, type RecordedCommandName } from '../../store/fleet-commands.js';
import { type MigrationRecord, MigrationRecords } from '../../store/migration-record.js';
import { CommitDeadline } from './commit-offer.js';
import {
  acceptanceOf,
  type GivenCommand,
  isTaken,
  MissedCommands,
  refusalOf,
  refuseAfterFailure,
  refuseJoin,
  requireState,
} from './fleet-command.js';
import { recordMigration } from './record-migration.js';
import { inventoryOfMigration } from '../leader/carry.js';
import { checkReverse, readReversible, requireAnswer } from '../leader/reverse.js';
import {
  type Connect,
  connectConfigured,
  connectSource,
  openSource,
  requireClusterName,
} from '../migration/clusters.js';
import { ConfiguredClusters, refuseOtherClusters } from '../migration/configured-clusters.js';
import { readCommittedCatalog } from '../migration/migration-catalogs.js';
import { readMismatches } from '../migration/mismatches.js';
import type { Runtime } from '../migration/runtime.js';
import { InstanceReporter, type InstanceStatus, type ReportedInstance } from './instance-reporter.js';
import { publishNoDetails } from './run-details.js';
import { JoinedMigration } from './joined-migration.js';
import type { MigrationRun } from './migration-run.js';

/** One instance: it owns its state and takes the contract's commands. */
export class SyncInstance implements ContractService, ReportedInstance {
  readonly #ending = new AbortController();
  readonly #clusters: ConfiguredClusters;
  readonly #migration: JoinedMigration;
  readonly #reporter: InstanceReporter;
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
    const setup = { runtime, fleet, identity, clusters: this.#clusters, connect };
    const observer = {
      follow: (run: MigrationRun, signal: AbortSignal) => this.#reporter.follow(run, signal),
      swapped: () => this.#reporter.publish(),
      failed: (failure: Failure) => this.fail(failure),
    };
    this.#migration = new JoinedMigration(setup, observer, this.#ending.signal);
    this.#reporter = new InstanceReporter(setup, this);
    this.#missed = new MissedCommands(runtime, runtime.config.id ?? '', this.#migration, this, fleet);
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
    return this.#migration.run?.state ?? 'IDLE';
  }

  get status(): InstanceStatus {
    const { run } = this.#migration;
    return { isInitialized: this.#isInitialized, state: this.state, run, failure: this.#failure() };
  }

  get refused(): InstanceReport['refused'] {
    return this.#missed.refused;
  }

  /** Connects, resumes this instance's part in a recorded migration, and starts to report. */
  async open(): Promise<void> {
    this.#reporting = this.#reporter.run(this.#ending.signal).catch(() => undefined);
    const { signal } = this.#ending;
    await this.#clusters.open(signal);
    await this.#migration.restore();
    if (this.#migration.run === null && (await this.#migration.recorded()) === null) publishNoDetails(this.fleet);
    this.#isInitialized = true;
    this.#reporter.publish();
    // A lone instance has no fleet whose commands it could miss.
    if (this.runtime.config.id !== undefined) this.#looking = this.#missed.run(signal).catch(() => undefined);
  }

  start(request: StartRequest, commandId?: string): Promise<Acceptance> {
    return this.#command({ name: 'start', commandId, request }, async (signal) => {
      const sourceName = requireClusterName(request.source);
      await this.#clusters.reach(sourceName, signal);
      const destination = await this.#clusters.reach(requireClusterName(request.destination), signal);
      refuseOtherClusters(this.#clusters.ids, this.fleet.reports());
      const records = new MigrationRecords(this.#migration.metadataOn(destination));
      const recorded = await records.read(signal);
      if (recorded !== null) refuseJoin(recorded, this.identity.release);
      const source = await openSource(this.runtime, sourceName, recorded?.access ?? null, signal, this.connect);
      try {
        await this.#begin(request, source, destination, recorded, commandId, signal);
      } catch (error) {
        if (this.#migration.run === null) await source.close();
        throw error;
      }
    });
  }

  pause(commandId?: string): Promise<Acceptance> {
    return this.#command({ name: 'pause', commandId }, async (signal) => {
      await this.#migration.running.pause(await this.#note('pause', commandId, signal));
    });
  }

  resume(commandId?: string): Promise<Acceptance> {
    return this.#command({ name: 'resume', commandId }, async (signal) => {
      await this.#migration.running.resume(await this.#note('resume', commandId, signal));
    });
  }

  commit(commandId?: string, awaited_ms?: number): Promise<Acceptance> {
    const deadline = new CommitDeadline(this.runtime.clock, awaited_ms);
    return this.#command({ name: 'commit', commandId }, (signal) =>
      deadline.take(this.#migration.running, this.#reporter.offer, signal),
    );
  }

  reverse(commandId?: string): Promise<Acceptance> {
    return this.#command({ name: 'reverse', commandId }, async (signal) => {
      const run = this.#migration.running;
      const record = await readReversible(run, signal);
      await requireAnswer(this.runtime, run.deps.source, signal);
      await this.#clusters.reach(requireClusterName(record.source.name), signal);
      const next = await this.#migration.openNextSource(record);
      const records = new MigrationRecords(run.metadata);
      const committed = () => readCommittedCatalog({ watch: run, metadata: run.metadata }, signal);
      await checkReverse({ runtime: this.runtime, records, former: run.deps.source, next, record, committed, signal });
      await this.#note('reverse', commandId, signal);
      await run.requestReverse();
    });
  }

  progress(): Promise<Progress> {
    return this.#reporter.progress();
  }

  /** Of the migration that runs, otherwise of the clusters that a start would take. */
  async inventory(request: StartRequest): Promise<Inventory> {
    const { signal } = this.#ending;
    const { run } = this.#migration;
    try {
      if (run !== null) return (await takeInventory(inventoryOfMigration(run.deps, run.view.record), signal)).inventory;
      return await this.#inventoryBefore(request, signal);
    } catch (error) {
      throw error instanceof ConvoyError ? error : namedFailure(error);
    }
  }

  /** Shards show what their router does not: they are asked too, where they can be. */
  async #inventoryBefore(request: StartRequest, signal: AbortSignal): Promise<Inventory> {
    const { config } = this.runtime;
    const sourceName = requireClusterName(request.source);
    const routed = await this.#clusters.reach(sourceName, signal);
    const destination = await this.#clusters.reach(requireClusterName(request.destination), signal);
    const opened = await connectSource(config, sourceName, config.sourceAccess, signal, this.connect).catch(() => null);
    signal.throwIfAborted();
    try {
      const now_ms = this.runtime.clock.now_ms();
      const source = opened ?? routed;
      const of = { source, destination, request, turns: 0, reverses: false, former: null, now_ms };
      return (await takeInventory(of, signal)).inventory;
    } finally {
      await opened?.close();
    }
  }

  async *mismatches(query: MismatchQuery): AsyncGenerator<Mismatch> {
    const { run } = this.#migration;
    if (run !== null)
      yield* readMismatches(run.metadata, run.view.record, run.failure !== null, query, this.#ending.signal);
  }

  /** Ends cleanly: stages finish what is in flight, and the instance releases its identity and connections. */
  async close(): Promise<void> {
    this.#ending.abort(new ConvoyError('shuttingDown'));
    await this.#migration.end();
    await this.#looking;
    await this.#reporting;
    await this.#reporter.ended();
    await this.fleet.leave();
    await this.#migration.close();
    await this.#clusters.close();
  }

  /** Runs commands one after the other; a failed migration takes none. */
  #command(given: GivenCommand, run: (signal: AbortSignal) => Promise<void>): Promise<Acceptance> {
    const { name } = given;
    const timer = this.runtime.metrics.commandDuration.startTimer({ command: name });
    const result = this.#commands.then(async () => {
      refuseAfterFailure(this.#failure(), this.#migration.run !== null);
      const acceptance = await this.#take(given, run, this.#ending.signal).catch((error: unknown) => {
        throw refusalOf(name, error);
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
    if (!(await isTaken(this.#migration.run, given, signal))) {
      requireState(given.name, this.state, this.whyNotReady);
      await run(signal);
    }
    return acceptanceOf(this.#migration.run, given, signal);
  }

  async #begin(
    request: StartRequest,
    source: ClusterClient,
    destination: ClusterClient,
    recorded: MigrationRecord | null,
    commandId: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const ownIds = this.#migration.ownIds(source);
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
    if (commandId !== undefined) await noteCommand(this.#migration.metadataOn(destination), 'start', commandId, signal);
    await this.#migration.start(record, source, ownIds);
    this.fleet.wake();
  }

  /**
   * Records a command of the whole fleet, and returns its number; for one of this instance alone, the number of the
   * fleet's last command, which it replaces here.
   */
  async #note(name: RecordedCommandName, commandId: string | undefined, signal: AbortSignal): Promise<number> {
    const run = this.#migration.running;
    if (commandId !== undefined) return noteCommand(run.metadata, name, commandId, signal);
    return (await run.refresh(signal)).record.fleetCommands?.noted ?? 0;
  }

  #failure(): Failure | null {
    return this.#startFailure ?? this.#migration.run?.failure ?? null;
  }

  /** Records a failure that keeps the instance from taking commands. */
  fail(failure: Failure): void {
    this.#startFailure = failure;
    this.#isInitialized = true;
  }
}
