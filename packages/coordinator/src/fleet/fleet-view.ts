import type { Logger } from 'pino';
import type { Leader, SeenReport } from '@convoy/api/fleet/fleet';
import { Watchers } from '@convoy/api/fleet/watchers';
import { LeaderView } from '../election/leader-view.js';
import { decodeLease } from '../election/leader-lease.js';
import { PeerReports } from '../membership/peer-reports.js';
import { ReportBoard } from '../membership/report-board.js';
import { decodeMessage } from '../membership/report-message.js';
import type { MemberMessage } from '../membership/report-message.js';
import { loadRoster, type Roster } from '../membership/roster.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import type { FleetKeys } from '../redis/keys.js';
import { callRedis, redisFailureReason } from '../redis/redis-failure.js';
import type { Clock } from '../time/clock.js';
import { PeriodicTask } from '../time/periodic-task.js';
import type { FleetTimings } from './timings.js';

export interface FleetViewDependencies {
  /** For what was published before, and for what the roster says is new. */
  readonly connection: RedisConnection;
  /** For subscriptions alone. */
  readonly subscriber: RedisConnection;
  readonly keys: FleetKeys;
  readonly timings: FleetTimings;
  readonly clock: Clock;
  readonly logger: Logger;
  /** An instance hears of its peers about once per keep-alive time; a coordinator process of every report at once. */
  readonly hearsAll: boolean;
  /** Called when the leadership was said to be vacant. */
  readonly onVacant?: () => void;
}

/** What one process sees of a fleet: reports and leader. It needs no identity, so a coordinator process has one too. */
export class FleetView {
  readonly watchers = new Watchers();
  readonly leaderView = new LeaderView(this.watchers);
  readonly board: ReportBoard;
  readonly #parts: FleetViewDependencies;
  readonly #peers: PeerReports;
  readonly #sweep: PeriodicTask;
  #own: { readonly id: string; readonly incarnation: string } | null = null;
  /** One line, not one per message. */
  #unreadableLogged = false;

  constructor(parts: FleetViewDependencies) {
    this.#parts = parts;
    this.board = new ReportBoard(parts.timings.identityLease_ms, parts.clock, this.watchers);
    this.#peers = new PeerReports({
      connection: parts.connection,
      keys: parts.keys,
      board: this.board,
      limit_ms: parts.timings.redisCall_ms,
      isOwn: (id) => id === this.#own?.id,
    });
    this.#sweep = new PeriodicTask(parts.timings.keepAlive_ms, () => this.#tick());
  }

  /**
   * Subscribes and loads what was published before; from then on every new connection does so by itself.
   * @throws ConvoyError `redisUnavailable`
   */
  async open(): Promise<void> {
    const { subscriber } = this.#parts;
    subscriber.on('message', (channel: string, text: string) => this.#onMessage(channel, text));
    await this.#listen();
    subscriber.on('ready', () => void this.#listenAgain());
    this.#sweep.start();
  }

  reports(): ReadonlyMap<string, SeenReport> {
    return this.board.reports();
  }

  leader(): Leader | null {
    return this.leaderView.leader();
  }

  /** Leaves out what this process has published itself from now on: it tells its own reports by `put`. */
  own(own: { readonly id: string; readonly incarnation: string }): void {
    this.#own = own;
  }

  /** Takes in what a heartbeat was told of all instances. */
  async seeRoster(roster: Roster, askedAt_ms: number): Promise<void> {
    try {
      await this.#peers.take(roster, askedAt_ms);
    } catch (error) {
      this.#logUnheard(error);
    }
  }

  /** Takes in a message of this very process. */
  put(message: MemberMessage): void {
    this.board.hear(message, Number.POSITIVE_INFINITY);
  }

  /**
   * Reads who holds the leader's lease. Candidates learn it from their campaigns; others ask at intervals.
   * @throws ConvoyError `redisUnavailable`
   */
  async refreshLeader(): Promise<void> {
    const { connection, keys, timings } = this.#parts;
    this.leaderView.see(decodeLease(await callRedis(connection.get(keys.leader), timings.redisCall_ms)));
  }

  async close(): Promise<void> {
    await this.#sweep.stop();
  }

  async #tick(): Promise<void> {
    if (this.#parts.hearsAll) await this.#load().catch((error: unknown) => this.#logUnheard(error));
    this.board.sweep();
  }

  /** Subscribes first and loads then, so that nothing is lost in between. */
  async #listen(): Promise<void> {
    const { subscriber, keys, timings, hearsAll } = this.#parts;
    const channels = [keys.departuresChannel, keys.leaderChannel, keys.wakeChannel, keys.ddlWatermarkChannel];
    await callRedis(
      subscriber.subscribe(...channels, ...(hearsAll ? [keys.reportsChannel] : [])),
      timings.redisCall_ms,
    );
    this.#peers.forget();
    await this.#load();
    await this.refreshLeader();
  }

  async #load(): Promise<void> {
    const { connection, keys, timings, clock } = this.#parts;
    const askedAt_ms = clock.monotonic_ms();
    await this.#peers.take(await loadRoster(connection, keys, timings.redisCall_ms), askedAt_ms);
  }

  async #listenAgain(): Promise<void> {
    try {
      await this.#listen();
    } catch (error) {
      this.#logUnheard(error);
    }
  }

  #logUnheard(error: unknown): void {
    this.#parts.logger.debug(
      { event: 'listenFailed', reason: redisFailureReason(error) },
      'reports could not be loaded, the next look brings them',
    );
  }

  #onMessage(channel: string, text: string): void {
    const { keys, clock } = this.#parts;
    if (channel === keys.leaderChannel) this.#onLeader(text);
    else if (channel === keys.wakeChannel) this.#onWake('wake', text);
    else if (channel === keys.ddlWatermarkChannel) this.#onWake('ddlWatermark', text);
    else {
      const message = decodeMessage(text);
      if (message === null) this.#logUnreadable();
      else this.#hear(message, clock.monotonic_ms());
    }
  }

  #onLeader(text: string): void {
    const holder = decodeLease(text);
    this.leaderView.see(holder);
    if (holder === null) this.#parts.onVacant?.();
  }

  /** The own ones were told of when they were sent. Nothing else is taken from such a message than that it came. */
  #onWake(news: 'wake' | 'ddlWatermark', sender: string): void {
    if (sender !== this.#own?.incarnation) this.watchers.notify(news);
  }

  #hear(message: MemberMessage, heardAt_ms: number): void {
    const id = message.kind === 'left' ? message.id : message.report.identity.id;
    if (id !== this.#own?.id) this.board.hear(message, heardAt_ms);
  }

  #logUnreadable(): void {
    if (this.#unreadableLogged) return;
    this.#unreadableLogged = true;
    this.#parts.logger.warn(
      { event: 'unreadableReport' },
      'a report could not be read; do all processes have the same release?',
    );
  }
}
