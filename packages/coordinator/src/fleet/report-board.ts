import { isDeepStrictEqual } from 'node:util';
import type { SeenReport } from '@convoy/api/fleet/fleet';
import type { Watchers } from '@convoy/api/fleet/watchers';
import type { TimeSource } from '@convoy/api/time/time-source';
import { Pace } from '../time/pace.js';
import type { MemberMessage } from './report-message.js';

/** Maximum remembered instances; a source has far fewer shards. */
const INSTANCES_MAX = 4_096;

interface Entry {
  seen: SeenReport;
  /** Number of a report within its incarnation. */
  sequence: number;
  /** By the monotonic clock of this process; minus infinity when the instance has left. */
  heardAt_ms: number;
  /** When its departure arrived; minus infinity while it has not left. */
  leftAt_ms: number;
  /** Pace of its signs of life. */
  pace: Pace;
}

/** The last known report of every instance of a fleet, as one process knows them. */
export class ReportBoard {
  readonly #entries = new Map<string, Entry>();
  /** Pace of this process's own checks; events between two checks are late by as much. */
  readonly #looks: Pace;
  #reports: ReadonlyMap<string, SeenReport> | null = null;

  /**
   * @param lease_ms silence after which a report is no longer fresh, if neither its instance nor this process is slow
   * @param isRecent whether the time of a report lets it be fresh at all: heartbeats are not signed, reports are
   */
  constructor(
    private readonly lease_ms: number,
    private readonly clock: TimeSource,
    private readonly watchers: Watchers,
    private readonly isRecent: (time_ms: number) => boolean = () => true,
  ) {
    this.#looks = new Pace(lease_ms);
  }

  /** By instance id. The map does not change; read it again after a change. */
  reports(): ReadonlyMap<string, SeenReport> {
    this.#reports ??= new Map([...this.#entries].map(([id, entry]) => [id, entry.seen]));
    return this.#reports;
  }

  /** When the last sign of life of an instance arrived, by the monotonic clock; undefined without any. */
  heardAt_ms(id: string): number | undefined {
    return this.#entries.get(id)?.heardAt_ms;
  }

  /**
   * Processes a message. Of two reports of one process the later one counts, in any order of arrival.
   * @param heardAt_ms when its sender was alive, by the monotonic clock: now for a new message, infinity for the own
   * process, whose report never becomes stale here
   */
  hear(message: MemberMessage, heardAt_ms: number): void {
    if (message.kind === 'left') {
      this.#markLeft(message.id, message.incarnation);
      return;
    }
    const { report, reportedAt_ms, sequence } = message;
    const { id, incarnation } = report.identity;
    const known = this.#entries.get(id);
    if (known === undefined && this.#entries.size >= INSTANCES_MAX) return;
    if (known?.seen.report.identity.incarnation === incarnation) {
      if (sequence >= known.sequence)
        this.#put(id, { ...known, sequence, seen: { ...known.seen, report, reportedAt_ms } });
      this.alive(id, heardAt_ms);
      return;
    }
    if (known !== undefined && known.heardAt_ms > heardAt_ms) return;
    const pace = new Pace(this.lease_ms);
    pace.beat(heardAt_ms);
    const seen = { report, reportedAt_ms, fresh: this.#isFresh({ heardAt_ms, pace }, reportedAt_ms) };
    this.#put(id, { seen, sequence, heardAt_ms, leftAt_ms: Number.NEGATIVE_INFINITY, pace });
  }

  /** Records that an instance was alive at a time of the monotonic clock; has no effect on one that left later. */
  alive(id: string, heardAt_ms: number): void {
    const entry = this.#entries.get(id);
    if (entry === undefined || heardAt_ms <= Math.max(entry.heardAt_ms, entry.leftAt_ms)) return;
    if (entry.leftAt_ms > entry.heardAt_ms) entry.pace.pause();
    entry.pace.beat(heardAt_ms);
    this.#put(id, {
      ...entry,
      heardAt_ms,
      seen: { ...entry.seen, fresh: this.#isFresh({ heardAt_ms, pace: entry.pace }, entry.seen.reportedAt_ms) },
    });
  }

  /** Marks the reports of instances that have been silent for too long. Call it at intervals. */
  sweep(): void {
    this.#looks.beat(this.clock.monotonic_ms());
    for (const [id, entry] of this.#entries) {
      const fresh = this.#isFresh(entry, entry.seen.reportedAt_ms);
      if (fresh !== entry.seen.fresh) this.#put(id, { ...entry, seen: { ...entry.seen, fresh } });
    }
  }

  #markLeft(id: string, incarnation: string): void {
    const entry = this.#entries.get(id);
    if (entry?.seen.report.identity.incarnation !== incarnation) return;
    const leftAt_ms = this.clock.monotonic_ms();
    this.#put(id, { ...entry, seen: { ...entry.seen, fresh: false }, heardAt_ms: Number.NEGATIVE_INFINITY, leftAt_ms });
  }

  #isFresh({ heardAt_ms, pace }: Pick<Entry, 'heardAt_ms' | 'pace'>, reportedAt_ms: number): boolean {
    if (heardAt_ms !== Number.POSITIVE_INFINITY && !this.isRecent(reportedAt_ms)) return false;
    const now_ms = this.clock.monotonic_ms();
    return now_ms - heardAt_ms <= Math.max(pace.limit_ms(heardAt_ms), this.#looks.limit_ms(now_ms));
  }

  #put(id: string, entry: Entry): void {
    const before = this.#entries.get(id)?.seen;
    this.#entries.set(id, entry);
    if (before === entry.seen) return;
    this.#reports = null;
    // A sign of life without news wakes nobody.
    if (before?.fresh !== entry.seen.fresh || !isDeepStrictEqual(before.report, entry.seen.report))
      this.watchers.notify('report');
  }
}
