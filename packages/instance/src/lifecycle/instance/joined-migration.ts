import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Failure, Fleet, InstanceIdentity } from '@convoy/api/fleet/fleet';
import { namedFailure } from '../../cluster/named-failure.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { Metadata } from '../../store/metadata.js';
import { type MigrationRecord, MigrationRecords } from '../../store/migration-record.js';
import { homeOf } from '../../store/reversal.js';
import { raiseRelease, takeOverMetadata } from '../../store/take-over-release.js';
import { type TaskRecord, TaskRecords } from '../../store/task-record.js';
import {
  type Connect,
  deferredSource,
  mayLackSource,
  openNextSource,
  openRecordedSource,
  requireClusterName,
  withRecordedShards,
} from '../migration/clusters.js';
import type { ConfiguredClusters } from '../migration/configured-clusters.js';
import type { MigrationView } from '../../store/migration-view.js';
import { mustRecountCopy, refuseNewerRelease, usesOldNames } from '../migration/release.js';
import { type Runtime, writeSessionsMax } from '../migration/runtime.js';
import { MigrationRun } from './migration-run.js';

/** What an instance has before it takes part in a migration. */
export interface InstanceSetup {
  runtime: Runtime;
  fleet: Fleet;
  identity: InstanceIdentity;
  clusters: ConfiguredClusters;
  connect: Connect;
}

/** Who shows what a run does. */
export interface RunObserver {
  /** Observes a run, in the place of the one before, until the signal. */
  follow(run: MigrationRun, signal: AbortSignal): void;
  /** Shows that the clusters were swapped. */
  swapped(): void;
  /** Receives the failure to follow a swap. */
  failed(failure: Failure): void;
}

/**
 * The migration in which an instance takes part: begun by a command, or found again on its clusters, and followed
 * through the swaps of them. It owns the connections to the source.
 */
export class JoinedMigration {
  #run: MigrationRun | null = null;
  #source: ClusterClient | null = null;
  /** The present destination as the future source, from the command to reverse on. */
  #nextSource: ClusterClient | null = null;
  #turning: Promise<void> = Promise.resolve();

  /** @param signal ends everything */
  constructor(
    private readonly setup: InstanceSetup,
    private readonly observer: RunObserver,
    private readonly signal: AbortSignal,
  ) {}

  /** Null before the start. */
  get run(): MigrationRun | null {
    return this.#run;
  }

  /** @throws ConvoyError `notReady` before the start */
  get running(): MigrationRun {
    if (this.#run === null) throw new ConvoyError('notReady');
    return this.#run;
  }

  /** The state of a migration on a cluster. */
  metadataOn(cluster: ClusterClient): Metadata {
    return new Metadata(cluster.router, this.setup.runtime.retrying);
  }

  /** Takes the own tasks of a migration that a command starts, and begins. */
  async start(record: MigrationRecord, source: ClusterClient, ownIds: readonly string[]): Promise<void> {
    const { runtime, clusters, fleet } = this.setup;
    const tasks = new TaskRecords(this.metadataOn(clusters.get(requireClusterName(record.destination.name))));
    const sessionsMax = writeSessionsMax(runtime.config);
    const options = { firstEpoch: record.firstEpoch, fleet };
    for (const id of ownIds) await tasks.take(id, this.#owner, sessionsMax, this.signal, options);
    await this.#begin(record, source, ownIds);
  }

  /** Begins the part in a migration that the clusters have on record, if its tasks were started. */
  async restore(): Promise<void> {
    const { runtime, connect, identity } = this.setup;
    for await (const [home, recorded] of this.#onRecord()) {
      const metadata = this.metadataOn(home);
      refuseNewerRelease(recorded.release, identity.release);
      if (homeOf(recorded).clusterId !== home.clusterId) throw new ConvoyError('wrongCluster');
      const { release } = recorded;
      // A release before 2.0 has other names: they change before anything else is read.
      const record = usesOldNames(release)
        ? await takeOverMetadata(metadata, recorded, identity.release, mustRecountCopy(release), this.signal)
        : recorded;
      if (record === null) return;
      const source = mayLackSource(record)
        ? deferredSource(runtime, record, connect)
        : await openRecordedSource(runtime, record, this.signal, connect);
      const ownIds = this.ownIds(source, record);
      const tasks = await new TaskRecords(metadata).readAll(this.signal);
      const started = ownIds.every((id) => tasks.some((task) => task._id === id && task.started));
      if (!started) await source.close();
      else await this.#begin(await raiseRelease(metadata, record, identity.release, this.signal), source, ownIds);
      return;
    }
  }

  /** The migration as it is now, from memory if it is there. A committed one matters while it can be reversed. */
  async recorded(): Promise<MigrationView | null> {
    const shown = this.#run?.view ?? null;
    if (shown !== null && shown.record.phase !== 'committed') return shown;
    if (shown !== null && (shown.record.reversal?.isOver ?? true)) return null;
    for await (const [home, record] of this.#onRecord())
      if (record.fleetCommands !== undefined) return this.#viewOn(home, record);
    return null;
  }

  /** The present destination as the source of the other direction, with which a swap continues. */
  async openNextSource(record: MigrationRecord): Promise<ClusterClient> {
    const { runtime, connect } = this.setup;
    return (this.#nextSource ??= await openNextSource(runtime, record, connect, this.signal));
  }

  /**
   * The configured shard, or all of them for a lone instance.
   * @throws ConvoyError `shardUnknown`
   */
  ownIds(source: ClusterClient, record: MigrationRecord | null = null): readonly string[] {
    const { id } = this.setup.runtime.config;
    const taskIds = record?.taskIds ?? source.shardIds;
    if (id === undefined) return taskIds;
    if (taskIds.includes(id)) return [id];
    throw new ConvoyError(
      'shardUnknown',
      `The configured id ${id} is not a shard of the source; it has: ${taskIds.join(', ')}.`,
    );
  }

  /** Ends the run cleanly, also one that a swap is about to begin; the signal has to be aborted. */
  async end(): Promise<void> {
    await this.#run?.close();
    await this.#turning;
    await this.#run?.close();
  }

  /** Closes the connections to the source. */
  async close(): Promise<void> {
    await this.#source?.close();
    await this.#nextSource?.close();
  }

  get #owner(): TaskRecord['owner'] {
    const { syncID, incarnation } = this.setup.identity;
    return { syncID, incarnation };
  }

  async #begin(record: MigrationRecord, source: ClusterClient, ownIds: readonly string[]): Promise<void> {
    const { runtime, fleet, clusters } = this.setup;
    const home = clusters.get(requireClusterName(homeOf(record).name));
    const destination = await clusters.reach(requireClusterName(record.destination.name), this.signal);
    const initial = await this.#viewOn(home, record);
    this.#source = source;
    const own = { ownIds, owner: this.#owner, initial };
    const readSource = withRecordedShards(source, record);
    const run = new MigrationRun({ runtime, fleet, source: readSource, destination, home, ...own });
    this.#run = run;
    run.begin();
    this.observer.follow(run, this.signal);
    this.#turning = this.#followSwap(run).catch((error: unknown) => {
      if (!this.signal.aborted) this.observer.failed(namedFailure(error));
    });
  }

  /** Once the clusters are swapped, the same tasks sync in the other direction. */
  async #followSwap(run: MigrationRun): Promise<void> {
    if (!(await run.untilSwapped())) return;
    const { runtime, connect } = this.setup;
    const { record } = await run.refresh(this.signal);
    await run.close();
    const source = this.#nextSource ?? (await openRecordedSource(runtime, record, this.signal, connect));
    this.#nextSource = null;
    await this.#source?.close();
    await this.#begin(record, source, run.deps.ownIds);
    this.observer.swapped();
  }

  /** The connected clusters that hold a migration's state, with its record. */
  async *#onRecord(): AsyncGenerator<[ClusterClient, MigrationRecord]> {
    for (const [name, home] of this.setup.clusters.connected) {
      const record = await new MigrationRecords(this.metadataOn(home)).read(this.signal);
      if (record !== null && homeOf(record).name === name) yield [home, record];
    }
  }

  async #viewOn(home: ClusterClient, record: MigrationRecord): Promise<MigrationView> {
    const tasks = await new TaskRecords(this.metadataOn(home)).readAll(this.signal);
    return { record, tasks: new Map(tasks.map((task) => [task._id, task])) };
  }
}
