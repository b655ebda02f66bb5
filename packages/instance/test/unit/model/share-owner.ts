import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Cluster, Door } from '../../../src/cluster/door.js';
import { parseInstanceConfig } from '../../../src/config/instance-config.js';
import { followedCatalog } from '../../../src/lifecycle/share/followed-catalog.js';
import { DefinitionFollower } from '../../../src/lifecycle/share/follow-definitions.js';
import { createRuntime, type Runtime } from '../../../src/lifecycle/migration/runtime.js';
import { ShareSync } from '../../../src/lifecycle/share/share-sync.js';
import { createLogger } from '../../../src/logging/logger.js';
import { Metrics } from '../../../src/metrics/metrics.js';
import { SessionFence } from '../../../src/store/session-fence.js';
import { Metadata } from '../../../src/store/metadata.js';
import { runTogether } from '../../../src/store/run-together.js';
import { ShareRecords } from '../../../src/store/share-record.js';
import { type Faults, Network } from './calls.js';
import { DestinationDoor } from './destination-door.js';
import type { DestinationModel } from './destination-model.js';
import { JournalModel } from './journal-model.js';
import type { Scheduler } from './scheduler.js';
import type { ShareView } from './share-view.js';
import { modelStart } from './source-history.js';

const config = parseInstanceConfig({
  flags: { cluster0: 'mongodb://source', cluster1: 'mongodb://destination', lanes: 2, writers: 1, readers: 3, partition_seconds: 1, checkpoint_ms: 100 },
});
const logger = createLogger({ verbosity: 'FATAL' });

/** Where no definitions change, all of them are known. */
const endOfTime = 2n ** 63n;
const noDefinitions = { done: [], undone: [], position: { read: 0, taken: 0 } };

/** One process that owns a share, from taking it over until it is stopped, has crashed or was fenced. */
export class ShareOwner {
  readonly #stop = new AbortController();
  readonly #hard = new AbortController();
  readonly #runtime: Runtime;
  #sync: ShareSync | null = null;
  #failure: unknown = null;
  #ended = false;

  constructor(
    private readonly view: ShareView,
    private readonly destination: DestinationModel,
    private readonly scheduler: Scheduler,
    private readonly faults: Faults,
    private readonly onViolation: (what: string) => void,
    private readonly mayHoldTwins: boolean,
    /** Where leaders tell of definition changes; null when there are none. */
    private readonly followsDefinitions = false,
    private readonly doubtfulKeysMax = Infinity,
  ) {
    this.#runtime = createRuntime(config, scheduler, logger, new Metrics({ processMetrics: false }));
  }

  /** The running sync; null before everything is claimed and after the end. */
  get sync(): ShareSync | null {
    return this.#ended ? null : this.#sync;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** What ended it by itself; being fenced by a successor is no failure. */
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
    const door = new DestinationDoor(this.destination, network, this.onViolation, this.mayHoldTwins);
    const metadata = new Metadata(door, this.#runtime.retrying);
    const records = new ShareRecords(metadata);
    const { signal } = this.#stop;
    const record = await records.take(this.view.id, { syncID: this.view.id, incarnation: 'x' }, 4, signal);
    const sessions = record.sessions.map((session) => session.value());
    if (record.epoch > 1) await new SessionFence(destinationOf(door), this.#runtime.retrying).stopFormerOwner(sessions, record.epoch, signal);
    const journal = new JournalModel(metadata, this.scheduler);
    const { done, undone, position } = this.followsDefinitions ? await journal.begin(signal) : noDefinitions;
    const { entries, known } = followedCatalog(this.view.begun, done);
    const sync = new ShareSync(
      {
        runtime: this.#runtime,
        source: this.view.source(network, door),
        destination: destinationOf(door),
        metadata,
        records,
        record,
        shardId: record._id,
        collections: entries.flatMap((followed) => this.view.shareOf(followed) ?? []),
        known,
        undone,
        startTime: modelStart + 1n,
        beginsCopied: false,
        bytesMax: 2 ** 16,
        doubtfulKeysMax: this.doubtfulKeysMax,
        includes: () => true,
        shareOf: (followed) => this.view.shareOf(followed),
        onFailure: () => undefined,
        nudge: () => journal.nudge(),
        patience: { isAwaited: () => false, isCalm: () => false },
        recreate: () => Promise.reject(new Error('there are no capped collections')),
      },
      this.#hard.signal,
    );
    await sync.prepare(signal);
    if (!this.followsDefinitions) sync.setHorizon(endOfTime);
    this.#sync = sync;
    const follower = new DefinitionFollower(sync, journal, { ...position, consented: record.consented });
    const following = this.followsDefinitions ? [(each: AbortSignal) => journal.run(each), (each: AbortSignal) => follower.run(each)] : [];
    await runTogether(signal, [(each) => sync.run(each), ...following]);
  }
}

function destinationOf(router: Door): Cluster {
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
    shareDoor: () => router,
    close: () => Promise.resolve(),
  };
}
