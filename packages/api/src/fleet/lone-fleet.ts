import type {
  CommandHandler,
  Fleet,
  FleetNews,
  InstanceIdentity,
  InstanceReport,
  Leader,
  SeenReport,
} from './fleet.js';
import { Watchers } from './watchers.js';

/** The fleet of a lone instance: it leads itself, has no peers and needs no Redis. */
export class LoneFleet implements Fleet {
  readonly #watchers = new Watchers();
  readonly #reports = new Map<string, SeenReport>();
  #identity: InstanceIdentity | null = null;

  /** @param now_ms milliseconds since 1970 */
  constructor(private readonly now_ms: () => number = Date.now) {}

  join(identity: InstanceIdentity): Promise<void> {
    this.#identity = identity;
    this.#watchers.notify('leader');
    return Promise.resolve();
  }

  report(report: InstanceReport): void {
    this.#reports.set(report.identity.id, { report, reportedAt_ms: this.now_ms(), fresh: true });
    this.#watchers.notify('report');
  }

  /** A lone instance's fleet has no readers. */
  publishDetails(): void {
    return;
  }

  reports(): ReadonlyMap<string, SeenReport> {
    return this.#reports;
  }

  leader(): Leader | null {
    return this.#identity === null ? null : { id: this.#identity.id, syncID: this.#identity.syncID };
  }

  isLeader(): boolean {
    return this.#identity !== null;
  }

  watch(listener: (news: ReadonlySet<FleetNews>) => void): () => void {
    return this.#watchers.add(listener);
  }

  /** Never calls the handler: a lone instance receives commands only through its own API. */
  serve(_handler: CommandHandler): void {
    return;
  }

  wake(): void {
    this.#watchers.notify('wake');
  }

  announceDdlWatermark(): void {
    this.#watchers.notify('ddlWatermark');
  }

  leave(): Promise<void> {
    this.#identity = null;
    this.#watchers.notify('leader');
    return Promise.resolve();
  }
}
