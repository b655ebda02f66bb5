import type { Leader, SeenReport } from '@convoy/api/fleet/fleet';
import { Watchers } from '@convoy/api/fleet/watchers';
import { callRedis, redisFailureReason } from '../redis/redis-failure.js';
import type { RedisConnection } from '../redis/signed-redis.js';
import { PeriodicTask } from '../time/periodic-task.js';
import type { FleetLink } from './fleet-link.js';
import { decodeLease, LeaderView } from './leader-lease.js';
import { ReportBoard } from './report-board.js';
import { type MemberMessage, openMessage } from './report-message.js';
import { loadRoster, PeerReports, type Roster } from './roster.js';

/** One process's view of a fleet: reports and leader. It needs no identity, so coordinator processes have one too. */
export class FleetView {
  readonly watchers = new Watchers();
  readonly leaderView = new LeaderView(this.watchers);
  readonly board: ReportBoard;
  readonly #subscriber: RedisConnection;
  readonly #peers: PeerReports;
  readonly #sweep: PeriodicTask;
  #own: { readonly id: string; readonly incarnation: string } | null = null;
  /** Limits logging to one line instead of one per message. */
  #unreadableLogged = false;

  /**
   * @param options.hearsAll an instance reads its peers' reports about once per keep-alive time; a coordinator process
   * receives every report immediately
   * @param options.onVacant called after a notification of vacant leadership
   */
  constructor(
    private readonly redis: FleetLink,
    private readonly options: { hearsAll: boolean; onVacant?: () => void },
  ) {
    const { connections, signature, timings, clock } = redis;
    this.#subscriber = connections.subscriber();
    this.board = new ReportBoard(timings.identityLease_ms, clock, this.watchers, (time_ms) =>
      signature.isRecent(time_ms),
    );
    this.#peers = new PeerReports(redis, this.board, (id) => id === this.#own?.id);
    this.#sweep = new PeriodicTask(timings.keepAlive_ms, () => this.#tick());
  }

  /**
   * Subscribes and loads earlier reports; every later reconnection does the same.
   * @throws ConvoyError `redisUnavailable`
   */
  async open(): Promise<void> {
    this.#subscriber.on('message', (channel: string, text: string) => this.#onMessage(channel, text));
    await this.#listen();
    this.#subscriber.on('ready', () => void this.#listenAgain());
    this.#sweep.start();
  }

  reports(): ReadonlyMap<string, SeenReport> {
    return this.board.reports();
  }

  leader(): Leader | null {
    return this.leaderView.leader();
  }

  /** Ignores this process's own reports from now on; it adds them by `put`. */
  own(own: { readonly id: string; readonly incarnation: string }): void {
    this.#own = own;
  }

  /** Processes the roster that came with a heartbeat. */
  async seeRoster(roster: Roster, askedAt_ms: number): Promise<void> {
    try {
      await this.#peers.take(roster, askedAt_ms);
    } catch (error) {
      this.#logUnheard(error);
    }
  }

  /** Processes a message of this process. */
  put(message: MemberMessage): void {
    this.board.hear(message, Number.POSITIVE_INFINITY);
  }

  /**
   * Reads who holds the leader lease. Candidates learn it from their campaigns; others read it at intervals.
   * @throws ConvoyError `redisUnavailable`
   */
  async refreshLeader(): Promise<void> {
    const { connection, keys, limit_ms } = this.redis;
    this.leaderView.see(decodeLease(await callRedis(connection.get(keys.leader), limit_ms)));
  }

  async close(): Promise<void> {
    await this.#sweep.stop();
  }

  async #tick(): Promise<void> {
    if (this.options.hearsAll) await this.#load().catch((error: unknown) => this.#logUnheard(error));
    this.board.sweep();
  }

  /** Subscribes before it loads, so that no report is lost in between. */
  async #listen(): Promise<void> {
    const { keys, limit_ms } = this.redis;
    const channels = [keys.departuresChannel, keys.leaderChannel, keys.wakeChannel, keys.ddlWatermarkChannel];
    await callRedis(
      this.#subscriber.subscribe(...channels, ...(this.options.hearsAll ? [keys.reportsChannel] : [])),
      limit_ms,
    );
    this.#peers.forget();
    await this.#load();
    await this.refreshLeader();
  }

  async #load(): Promise<void> {
    const askedAt_ms = this.redis.clock.monotonic_ms();
    await this.#peers.take(await loadRoster(this.redis), askedAt_ms);
  }

  async #listenAgain(): Promise<void> {
    try {
      await this.#listen();
    } catch (error) {
      this.#logUnheard(error);
    }
  }

  #logUnheard(error: unknown): void {
    this.redis.logger.debug(
      { event: 'listenFailed', reason: redisFailureReason(error) },
      'cannot load reports, retrying at the next interval',
    );
  }

  #onMessage(channel: string, text: string): void {
    const { keys, clock, signature } = this.redis;
    if (channel === keys.leaderChannel) this.#onLeader(text);
    else if (channel === keys.wakeChannel) this.#onWake('wake', text);
    else if (channel === keys.ddlWatermarkChannel) this.#onWake('ddlWatermark', text);
    else {
      const message = openMessage(signature, text, 'recent');
      if (message === null) this.#logUnreadable();
      else this.#hear(message, clock.monotonic_ms());
    }
  }

  #onLeader(text: string): void {
    const holder = decodeLease(text);
    this.leaderView.see(holder);
    if (holder === null) this.options.onVacant?.();
  }

  /** Skips own messages, which were processed when they were sent. Of other messages only their arrival counts. */
  #onWake(news: 'wake' | 'ddlWatermark', sealed: string): void {
    const sender = this.redis.signature.open(news, [], sealed, 'recent');
    if (sender !== null && sender !== this.#own?.incarnation) this.watchers.notify(news);
  }

  #hear(message: MemberMessage, heardAt_ms: number): void {
    const id = message.kind === 'left' ? message.id : message.report.identity.id;
    if (id !== this.#own?.id) this.board.hear(message, heardAt_ms);
  }

  #logUnreadable(): void {
    if (this.#unreadableLogged) return;
    this.#unreadableLogged = true;
    this.redis.logger.warn(
      { event: 'unreadableReport' },
      'cannot parse a report: run the same release in all processes',
    );
  }
}
