import { timestampOf } from '../../cluster/cluster-time.js';
import type { DdlWatcher } from '../../ddl/ddl-watcher.js';
import { SerialQueue } from '../../async/waiting.js';
import type { LeaderDependencies } from '../migration/migration-dependencies.js';

/** The leader stores the DDL watermark at most this often, though streams advance faster while a commit waits. */
const store_ms = 40;

/** The DDL watermark as the tasks may know it: the leader stores it, and none beyond the present commit time. */
export class StoredWatermark {
  #stored = 0n;
  readonly #storing = new SerialQueue();

  /** @param commitTime of the present round; null before the first */
  constructor(
    private readonly deps: LeaderDependencies,
    private readonly watcher: DdlWatcher,
    private commitTime: bigint | null,
  ) {}

  /** Stores it as it advances, until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.watcher.moved.until(() => this.#ddlWatermark > this.#stored, signal);
      await this.store(signal);
      await this.deps.runtime.clock.sleep(store_ms, signal);
    }
  }

  /** Stores no later one than now until a commit time is set, unless there is one. */
  hold(): void {
    this.commitTime ??= this.watcher.ddlWatermark;
  }

  /** Stores what a commit time allows, and nothing later until a later one counts. */
  async limitTo(commitTime: bigint, signal: AbortSignal): Promise<void> {
    this.commitTime = commitTime;
    await this.store(signal);
  }

  /** Lower changes are already in the journal. The message to the fleet says where to read, not what is there. */
  store(signal: AbortSignal): Promise<void> {
    return this.#storing.run(async () => {
      const ddlWatermark = this.#ddlWatermark;
      if (ddlWatermark <= this.#stored) return;
      await this.deps.records.updateAsLeader(
        this.deps.leaderEpoch,
        { ddlWatermark: { time: timestampOf(ddlWatermark) } },
        signal,
      );
      this.#stored = ddlWatermark;
      this.deps.fleet.announceDdlWatermark();
    });
  }

  /** As tasks may know it. */
  get #ddlWatermark(): bigint {
    const { ddlWatermark } = this.watcher;
    return this.commitTime !== null && ddlWatermark > this.commitTime ? this.commitTime + 1n : ddlWatermark;
  }
}
