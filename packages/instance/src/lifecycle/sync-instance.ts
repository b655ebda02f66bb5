import { idleProgress, type Progress, progressInfo, type MigrationState } from '@convoy/api/contract/progress';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ContractService } from '@convoy/api/http/contract-service';
import type { CommandName } from '@convoy/api/contract/commands';
import type { Failure, Fleet, InstanceIdentity } from '@convoy/api/fleet/fleet';
import { type Catalog, namespaceOf } from '../catalog/namespace.js';
import type { Cluster } from '../cluster/door.js';
import { isNetworkFailure } from '../cluster/failure.js';
import { checkStart } from '../preflight/check-start.js';
import { Metadata } from '../store/metadata.js';
import { MigrationRecords, type MigrationRecord } from '../store/migration-record.js';
import { ShareRecords } from '../store/share-record.js';
import { type ClusterName, isClusterName, openDestination, openSource, requireClusterName } from './clusters.js';
import { MigrationRun } from './migration-run.js';
import { type PublishedTotals, publishMetrics } from './publish-metrics.js';
import { isReadyToCommit, progressOf } from './progress-view.js';
import { refuseNewerRelease } from './release.js';
import { Rates, reportOf } from './report.js';
import { type Runtime, writeSessionsMax } from './runtime.js';
import { requireState } from './state-table.js';

/** Of what the filter matches so many are named in the log; the rest is counted. */
const namespacesLoggedMax = 1_000;
/** Peers are told of this instance's figures this often. */
const report_ms = 250;

/** One instance: the owner of its state, behind the contract's commands. */
export class SyncInstance implements ContractService {
  readonly #ending = new AbortController();
  readonly #rates: Rates;
  readonly #clusters = new Map<ClusterName, Cluster>();
  #source: Cluster | null = null;
  #run: MigrationRun | null = null;
  #startFailure: Failure | null = null;
  #isInitialized = false;
  #published: PublishedTotals = { copiedBytes: 0, copiedDocuments: 0 };
  #commands: Promise<unknown> = Promise.resolve();
  #reporting: Promise<void> = Promise.resolve();

  constructor(
    private readonly runtime: Runtime,
    private readonly fleet: Fleet,
    private readonly identity: InstanceIdentity,
  ) {
    this.#rates = new Rates(runtime.clock);
    runtime.metrics.bufferBytesMax.set(runtime.config.memoryBytesMax);
  }

  get isReady(): boolean {
    return this.#isInitialized;
  }

  get state(): MigrationState {
    if (!this.#isInitialized) return 'INITIALIZING';
    return this.#run?.state ?? 'IDLE';
  }

  /** Connects, goes on with the migration that this instance takes part in, if there is one, and begins to report. */
  async open(): Promise<void> {
    this.#reporting = this.#report().catch(() => undefined);
    const { signal } = this.#ending;
    for (const name of ['cluster0', 'cluster1'] as const) {
      this.#clusters.set(name, await openDestination(this.runtime, name, signal));
    }
    await this.#restore(signal);
    this.#isInitialized = true;
  }

  start(request: StartRequest): Promise<void> {
    return this.#command('start', async (signal) => {
      const sourceName = requireClusterName(request.source);
      const destination = this.#cluster(requireClusterName(request.destination));
      const records = new MigrationRecords(this.#metadata(destination));
      const recorded = await records.read(signal);
      if (recorded !== null) this.#refuseRecorded(recorded);
      const source = await openSource(this.runtime, sourceName, recorded?.access ?? null, signal);
      try {
        await this.#begin(request, source, destination, recorded, signal);
      } catch (error) {
        if (this.#run === null) await source.close();
        throw error;
      }
    });
  }

  pause(): Promise<void> {
    return this.#command('pause', async () => this.#running().pause());
  }

  resume(): Promise<void> {
    return this.#command('resume', async () => this.#running().resume());
  }

  commit(): Promise<void> {
    return this.#command('commit', async () => {
      if (!this.#fleetCanCommit()) throw new ConvoyError('cannotCommit');
      await this.#running().requestCommit();
    });
  }

  reverse(): Promise<void> {
    return this.#command('reverse', () => Promise.reject(new ConvoyError('notReversible')));
  }

  progress(): Promise<Progress> {
    const failure = this.#failure();
    if (failure !== null) return Promise.reject(new ConvoyError(failure.error, failure.errorDescription));
    return Promise.resolve(this.#present());
  }

  /** Ends cleanly: stations finish what is in flight, identity and connections are given back. */
  async close(): Promise<void> {
    this.#ending.abort(new ConvoyError('shuttingDown'));
    await this.#run?.close();
    await this.#reporting;
    await this.fleet.leave();
    await this.#source?.close();
    for (const cluster of this.#clusters.values()) await cluster.close();
  }

  /** Commands follow each other; a failed migration takes none. */
  #command(name: CommandName, run: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const result = this.#commands.then(async () => {
      if (this.#failure() !== null) throw new ConvoyError('migrationFailed');
      requireState(name, this.state);
      await run(this.#ending.signal).catch((error: unknown) => {
        throw isNetworkFailure(error) ? unreachable(name, error) : error;
      });
      this.runtime.logger.info({ event: 'command', command: name }, 'command taken');
      this.#publish();
    });
    this.#commands = result.catch(() => undefined);
    return result;
  }

  async #begin(request: StartRequest, source: Cluster, destination: Cluster, recorded: MigrationRecord | null, signal: AbortSignal): Promise<void> {
    const ownIds = this.#ownIds(source);
    const { syncUser } = this.runtime.config;
    const metadata = this.#metadata(destination);
    const records = new MigrationRecords(metadata);
    const input = { source, destination, request, signal, ...(syncUser === undefined ? {} : { syncUser }) };
    const check = await checkStart({ ...input, alreadyRecorded: recorded !== null }).catch(async (error: unknown) => {
      // A peer that was started at the same moment may have recorded the migration meanwhile: this instance then joins it.
      if (recorded !== null || (await records.read(signal)) === null) throw error;
      return checkStart({ ...input, alreadyRecorded: true });
    });
    this.#logMatched(check.sourceCatalog);
    const shares = new ShareRecords(metadata);
    const record = await records.begin(
      {
        release: this.identity.release,
        options: request,
        source: { name: source.name, clusterId: source.clusterId },
        destination: { name: destination.name, clusterId: destination.clusterId },
        access: source.access,
        shareIds: [...source.shardIds],
        warnings: check.warnings,
      },
      signal,
    );
    const owner = { syncID: this.identity.syncID, incarnation: this.identity.incarnation };
    for (const id of ownIds) await shares.take(id, owner, writeSessionsMax(this.runtime.config), signal);
    await this.#go(record, source, destination, ownIds, signal);
    this.fleet.nudge();
  }

  async #restore(signal: AbortSignal): Promise<void> {
    for (const name of ['cluster1', 'cluster0'] as const) {
      const destination = this.#cluster(name);
      const metadata = this.#metadata(destination);
      const record = await new MigrationRecords(metadata).read(signal);
      if (record === null || record.destination.name !== name) continue;
      refuseNewerRelease(record.release, this.identity.release);
      if (record.destination.clusterId !== destination.clusterId || !isClusterName(record.source.name)) throw new ConvoyError('wrongCluster');
      const source = await openSource(this.runtime, record.source.name, record.access, signal);
      if (source.clusterId !== record.source.clusterId) throw new ConvoyError('wrongCluster');
      const ownIds = this.#ownIds(source);
      const shares = await new ShareRecords(metadata).readAll(signal);
      const started = ownIds.every((id) => shares.some((share) => share._id === id && share.started));
      if (started) await this.#go(record, source, destination, ownIds, signal);
      else await source.close();
      return;
    }
  }

  async #go(record: MigrationRecord, source: Cluster, destination: Cluster, ownIds: readonly string[], signal: AbortSignal): Promise<void> {
    const shares = await new ShareRecords(this.#metadata(destination)).readAll(signal);
    this.#source = source;
    this.#run = new MigrationRun({
      runtime: this.runtime,
      fleet: this.fleet,
      source,
      destination,
      ownIds,
      owner: { syncID: this.identity.syncID, incarnation: this.identity.incarnation },
      initial: { record, shares: new Map(shares.map((share) => [share._id, share])) },
    });
    this.#run.begin();
  }

  #refuseRecorded(recorded: MigrationRecord): void {
    refuseNewerRelease(recorded.release, this.identity.release);
    if (recorded.failure !== null || recorded.phase === 'committed') throw new ConvoyError('migrationExists');
  }

  #logMatched(catalog: Catalog): void {
    const namespaces = catalog.slice(0, namespacesLoggedMax).map(namespaceOf);
    this.runtime.logger.info({ event: 'filterMatched', matched: catalog.length, namespaces }, 'what the filter matches on the source');
  }

  /** The configured shard, or all of them for a lone instance. */
  #ownIds(source: Cluster): readonly string[] {
    const { id } = this.runtime.config;
    if (id === undefined) return source.shardIds;
    if (source.shardIds.includes(id)) return [id];
    throw new ConvoyError('shardUnknown', `The configured id ${id} is not a shard of the source; it has: ${source.shardIds.join(', ')}.`);
  }

  #metadata(destination: Cluster): Metadata {
    return new Metadata(destination.router, this.runtime.retrying);
  }

  #cluster(name: ClusterName): Cluster {
    const cluster = this.#clusters.get(name);
    if (cluster === undefined) throw new ConvoyError('notReady');
    return cluster;
  }

  #running(): MigrationRun {
    if (this.#run === null) throw new ConvoyError('notReady');
    return this.#run;
  }

  #failure(): Failure | null {
    return this.#startFailure ?? this.#run?.failure ?? null;
  }

  /** Sets what ends the instance before it could take commands. */
  fail(failure: Failure): void {
    this.#startFailure = failure;
    this.#isInitialized = true;
  }

  #ownReady(): boolean {
    const run = this.#run;
    if (run === null || run.failure !== null) return false;
    const settled = run.state === 'RUNNING' || run.state === 'COMMITTING';
    return settled && isReadyToCommit(run.liveFigures, run.input.ownIds.length);
  }

  /** Every instance of the fleet is ready; silent ones are not. */
  #fleetCanCommit(): boolean {
    const run = this.#run;
    if (run === null || !this.#ownReady()) return false;
    const reports = this.fleet.reports();
    const others = run.view.record.shareIds.filter((id) => !run.input.ownIds.includes(id));
    return others.every((id) => {
      const seen = reports.get(id);
      return seen !== undefined && seen.fresh && seen.report.ready.canCommit;
    });
  }

  #present(): Progress {
    const run = this.#run;
    if (!this.#isInitialized) return { ...idleProgress(), state: 'INITIALIZING', info: progressInfo.initializing };
    if (run === null) return idleProgress();
    return progressOf({
      state: run.state,
      view: run.view,
      ownIds: run.input.ownIds,
      figures: run.figures,
      syncID: this.identity.syncID,
      leader: this.fleet.leader(),
      directionMapping: {
        Source: `${run.input.source.name}: ${run.input.source.displayHost}`,
        Destination: `${run.input.destination.name}: ${run.input.destination.displayHost}`,
      },
      canCommit: this.#fleetCanCommit(),
      indexBuilding: run.indexBuilding,
      warnings: run.warnings(),
    });
  }

  async #report(): Promise<void> {
    for (;;) {
      this.#publish();
      await this.runtime.clock.sleep(report_ms, this.#ending.signal);
    }
  }

  #publish(): void {
    const run = this.#run;
    const progress = this.#present();
    this.#published = publishMetrics(this.runtime.metrics, this.state, run?.figures ?? [], this.#published);
    this.fleet.report(
      reportOf(
        {
          identity: this.identity,
          state: this.state,
          failure: this.#failure(),
          canCommit: this.#ownReady(),
          canWrite: run?.view.record.canWrite ?? false,
          expectedIds: run?.view.record.shareIds ?? [],
          step: run?.view.record.phase ?? null,
          progress,
        },
        this.#rates,
      ),
    );
  }
}

function unreachable(name: CommandName, cause: unknown): ConvoyError {
  return new ConvoyError('sourceUnavailable', `A cluster could not be reached while ${name} was carried out; nothing was begun that is not recorded. Try again.`, { cause });
}
