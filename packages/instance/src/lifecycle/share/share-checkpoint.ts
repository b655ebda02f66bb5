import { earlier } from '../../apply/lane.js';
import type { Lanes } from '../../apply/lanes.js';
import type { Router } from '../../apply/router.js';
import { timestampOf } from '../../cluster/cluster-time.js';
import type { RepairSet } from '../../store/repair-set.js';
import type { ShareRecord } from '../../store/share-record.js';
import type { Signalled } from '../../store/signalled.js';
import type { ShareTables } from './share-tables.js';
import type { Runtime } from '../migration/runtime.js';
import type { ShareFigures } from '../figures/share-figures.js';
import type { UnknownCollections } from './unknown-collections.js';

/** Even when nothing has changed, the owner confirms its epoch this often. */
const confirm_ms = 10_000;
/** After so long without an event of the stream, all applied, the checkpoint only follows the source's ticks: nothing would be applied again. */
const calm_ms = 10_000;
/** How often it is stored then. */
const calmSave_ms = 5_000;
/** Nothing is sent when the ownership was not confirmed for this long: servers forget sessions, and with them the fence, after 30 minutes. */
const ownerUnconfirmedMax_ms = 10 * 60_000;

/** Stores fields of the share's record under its epoch. */
export type UpdateShare = (set: Partial<ShareRecord>) => Promise<void>;

/** What the checkpoint lies under. */
export interface CheckpointStations {
  runtime: Runtime;
  router: Router;
  lanes: Lanes;
  repairs: RepairSet;
  followed: ShareTables;
  unknown: UnknownCollections;
  /** Signalled after every stored checkpoint. */
  progressed: Signalled;
  figures(): ShareFigures;
  update: UpdateShare;
}

/** Keeps the durable checkpoint of a share: everything below it is durable on the destination. */
export class ShareCheckpoint {
  #saved: bigint;
  /** When the share's epoch was last found to be the own one. */
  #confirmed_ms: number;
  /** The latest event that was routed, and when it was first seen. */
  #latest = 0n;
  #latestAt_ms: number;

  /** @param saved the stored checkpoint, or where the stream begins */
  constructor(
    private readonly stations: CheckpointStations,
    saved: bigint,
  ) {
    this.#saved = saved;
    this.#confirmed_ms = stations.runtime.clock.monotonic_ms();
    this.#latestAt_ms = this.#confirmed_ms;
  }

  /** The smallest of: the first event not yet durable, and the reading time of every partition being copied. */
  time(): bigint {
    const { followed, unknown } = this.stations;
    let lowest = this.#appliedBelow();
    const lower = (time: bigint | null): void => {
      if (time !== null && time < lowest) lowest = time;
    };
    lower(unknown.oldestWaiting);
    for (const table of followed.tables.values()) {
      for (const { state, readTime } of table.partitions) if (state === 'starting' || state === 'copying') lower(readTime);
    }
    return lowest;
  }

  /** Below it every event of what is copied is durable: a copy that takes long does not keep it back. */
  #appliedBelow(): bigint {
    const { router, lanes, repairs } = this.stations;
    const next = router.position + 1n;
    const waiting = earlier(lanes.oldest(), repairs.oldestHeld());
    return waiting !== null && waiting < next ? waiting : next;
  }

  /** Stores the checkpoint at intervals, and confirms the ownership, until the stop signal. */
  async keep(stop: AbortSignal): Promise<void> {
    const { clock, config } = this.stations.runtime;
    for (;;) {
      await clock.sleep(config.checkpoint_ms, stop);
      const moved = this.time() > this.#saved && (!this.#isCalm() || clock.monotonic_ms() - this.#confirmed_ms >= calmSave_ms);
      if (!moved && clock.monotonic_ms() - this.#confirmed_ms < confirm_ms) continue;
      await this.save();
    }
  }

  #isCalm(): boolean {
    const { router, lanes, runtime } = this.stations;
    const now_ms = runtime.clock.monotonic_ms();
    if (router.latest !== this.#latest || lanes.oldest() !== null) [this.#latest, this.#latestAt_ms] = [router.latest, now_ms];
    return now_ms - this.#latestAt_ms >= calm_ms;
  }

  /** Stores the present checkpoint and the figures with it. */
  async save(): Promise<void> {
    const { router, repairs, progressed } = this.stations;
    const applied = this.#appliedBelow();
    const time = this.time();
    const checkpoint = time > this.#saved ? time : this.#saved;
    const { copiedBytes, copiedDocuments, copyDone, eventsApplied } = this.stations.figures();
    const copied = { bytes: copiedBytes, documents: copiedDocuments };
    const lastWrite = timestampOf(router.lastWrite);
    await this.update({ checkpoint: timestampOf(checkpoint), lastWrite, copied, copyDone, eventsApplied });
    this.#saved = checkpoint;
    repairs.forgetReadings(applied);
    progressed.changed();
  }

  /** A process that was frozen for long finds out here that it has been replaced, before it sends anything. */
  async confirmOwner(): Promise<void> {
    if (this.stations.runtime.clock.monotonic_ms() - this.#confirmed_ms < ownerUnconfirmedMax_ms) return;
    await this.save();
  }

  /** Stores other fields of the record, which confirms the ownership as well. */
  async update(set: Partial<ShareRecord>): Promise<void> {
    const asked_ms = this.stations.runtime.clock.monotonic_ms();
    await this.stations.update(set);
    this.#confirmed_ms = asked_ms;
  }
}
