import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { noRemap } from '../../../src/catalog/namespace-remap.js';
import type { ClusterClient, NodeClient } from '../../../src/cluster/node-client.js';
import { parseInstanceConfig } from '../../../src/config/instance-config.js';
import { followedCatalog } from '../../../src/lifecycle/task/followed-collections.js';
import { DdlFollower } from '../../../src/lifecycle/task/task-ddl.js';
import { createRuntime, type Runtime } from '../../../src/lifecycle/migration/runtime.js';
import { SyncPipeline } from '../../../src/lifecycle/task/sync-pipeline.js';
import { createLogger } from '../../../src/logging/logger.js';
import { Metrics } from '../../../src/metrics/metrics.js';
import { SessionFence } from '../../../src/store/fence.js';
import { Metadata } from '../../../src/store/metadata.js';
import { runTogether } from '../../../src/async/together.js';
import { TaskRecords } from '../../../src/store/task-record.js';
import { type Faults, Network } from './calls.js';
import { DestinationClient } from './destination-client.js';
import type { DestinationModel } from './destination-model.js';
import { JournalModel } from './journal-model.js';
import type { Scheduler } from './scheduler.js';
import type { TaskView } from './task-view.js';
import { modelStart } from './source-history.js';
import { only } from '../../../../../test/only.js';
import type { NamespaceFilter } from '../../../src/catalog/namespace-filter.js';
import type { Fleet } from '@convoy/api/fleet/fleet';

const config = parseInstanceConfig({
  flags: {
    cluster0: 'mongodb://source',
    cluster1: 'mongodb://destination',
    applyWorkers: 2,
    writers: 1,
    readers: 3,
    partition_seconds: 1,
    checkpoint_ms: 100,
  },
});
const logger = createLogger({ verbosity: 'FATAL' });

/** Without DDL changes, all of them are known. */
const endOfTime = 2n ** 63n;
const noDdlChanges = { done: [], undone: [], position: { read: 0, taken: 0 } };

/** One process that owns a task, from taking it until it is stopped, has crashed or was fenced. */
export class TaskOwner {
  readonly #stop = new AbortController();
  readonly #hard = new AbortController();
  readonly #runtime: Runtime;
  #sync: SyncPipeline | null = null;
  #failure: unknown = null;
  #ended = false;

  constructor(
    private readonly view: TaskView,
    private readonly destination: DestinationModel,
    private readonly scheduler: Scheduler,
    private readonly faults: Faults,
    private readonly onViolation: (what: string) => void,
    private readonly mayHoldTwins: boolean,
    /** Where leaders publish DDL changes; null without any. */
    private readonly followsDdl = false,
    private readonly rereadRequestsMax = Infinity,
    partition_seconds = config.partition_seconds,
  ) {
    this.#runtime = createRuntime(
      { ...config, partition_seconds },
      scheduler,
      logger,
      new Metrics({ processMetrics: false }),
    );
  }

  /** The running sync; null before everything is claimed and after the end. */
  get sync(): SyncPipeline | null {
    return this.#ended ? null : this.#sync;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** The failure that ended it by itself; being fenced by a successor is none. */
  get failure(): unknown {
    return this.#failure;
  }

  begin(): void {
    void this.#run()
      .catch((error: unknown) => {
        const fenced = error instanceof ConvoyError && error.error === 'staleEpoch';
        if (!fenced && !this.#stop.signal.aborted) this.#failure = error;
      })
      .finally(() => {
        this.#ended = true;
      });
  }

  stop(): void {
    this.#stop.abort(new ConvoyError('shuttingDown'));
  }

  /** Ends at once: calls that have not arrived yet may still do so. */
  crash(): void {
    this.#stop.abort(new ConvoyError('shuttingDown'));
    this.#hard.abort(new ConvoyError('shuttingDown'));
  }

  async #run(): Promise<void> {
    const network = new Network(this.scheduler, this.faults);
    const client = new DestinationClient(this.destination, network, this.onViolation, this.mayHoldTwins);
    const metadata = new Metadata(client, this.#runtime.retrying);
    const records = new TaskRecords(metadata);
    const { signal } = this.#stop;
    const record = await records.take(this.view.id, { syncID: this.view.id, incarnation: 'x' }, 4, signal);
    const sessions = record.sessions.map((session) => session.value());
    if (record.epoch > 1)
      await new SessionFence(destinationOf(client), this.#runtime.retrying).stopFormerOwner(
        sessions,
        record.epoch,
        signal,
      );
    const journal = new JournalModel(metadata, this.scheduler);
    const { done, undone, position } = this.followsDdl ? await journal.begin(signal) : noDdlChanges;
    const { entries, known } = followedCatalog(this.view.atStart, done);
    const sync = new SyncPipeline(
      {
        runtime: this.#runtime,
        source: this.view.source(network, client),
        destination: destinationOf(client),
        metadata,
        records,
        record,
        shardId: record._id,
        collections: entries.flatMap((followed) => this.view.taskOf(followed) ?? []),
        known,
        undone,
        startTime: modelStart + 1n,
        beginsCopied: false,
        bytesMax: 2 ** 16,
        rereadRequestsMax: this.rereadRequestsMax,
        filter: only<NamespaceFilter>({ includes: () => true }),
        remap: noRemap,
        taskOf: (followed) => this.view.taskOf(followed),
        onFailure: () => undefined,
        fleet: only<Fleet>({ wake: () => journal.wake() }),
        patience: { isAwaited: () => false, isIdle: () => false },
        recreate: () => Promise.reject(new Error('there are no capped collections')),
      },
      this.#hard.signal,
    );
    await sync.prepare(signal);
    if (!this.followsDdl) sync.setDdlWatermark(endOfTime);
    this.#sync = sync;
    const follower = new DdlFollower(sync, journal, { ...position, acknowledged: record.acknowledged });
    const following = this.followsDdl
      ? [(each: AbortSignal) => journal.run(each), (each: AbortSignal) => follower.run(each)]
      : [];
    await runTogether(signal, [(each) => sync.run(each), ...following]);
  }
}

function destinationOf(router: NodeClient): ClusterClient {
  return {
    name: 'cluster1',
    kind: 'sharded',
    version: [5, 0, 7],
    clusterId: '01',
    displayHost: 'cluster1',
    router,
    access: 'router',
    shardIds: ['a', 'b'],
    shard: () => router,
    taskClient: () => router,
    close: () => Promise.resolve(),
  };
}
