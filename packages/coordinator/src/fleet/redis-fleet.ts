import type { Warning } from '@convoy/api/contract/progress';
import type {
  CommandHandler,
  Fleet,
  FleetNews,
  InstanceIdentity,
  InstanceReport,
  Leader,
  SeenReport,
} from '@convoy/api/fleet/fleet';
import type { DetailTopic, PublishedDetails } from '@convoy/api/fleet/published-details';
import type { QuestionTopic, StartQuestion } from '@convoy/api/fleet/start-question';
import { systemTime } from '@convoy/api/time/time-source';
import { causeOf } from '../director/warnings.js';
import { redisFailureReason } from '../redis/redis-failure.js';
import { refusalReasons } from '../redis/signature.js';
import { isOpen, type RedisConnection } from '../redis/signed-redis.js';
import { CommandWorker, HandledCommands } from './command-worker.js';
import { type FleetLink, type FleetLinkOptions, linkFleet } from './fleet-link.js';
import { FleetView } from './fleet-view.js';
import { Heartbeat } from './heartbeat.js';
import { IdentityLease } from './identity-lease.js';
import { LeaderElection, RENEWALS_PER_LEASE } from './leader-election.js';
import { LeaderLease } from './leader-lease.js';
import { DetailsWriter, readQuestion } from './published-details.js';

/** State between join and leave. */
interface Membership {
  readonly identity: InstanceIdentity;
  readonly lease: IdentityLease;
  readonly heartbeat: Heartbeat;
  readonly election: LeaderElection;
}

/** One instance's fleet over Redis. One object serves one membership: it cannot join again after it left. */
export class RedisFleet implements Fleet {
  readonly #redis: FleetLink;
  readonly #view: FleetView;
  readonly #wakes: ThrottledPublisher;
  readonly #ddlWatermarks: ThrottledPublisher;
  readonly #details: DetailsWriter;
  readonly #handled = new HandledCommands();
  #membership: Membership | null = null;
  #handler: CommandHandler | null = null;
  #worker: CommandWorker | null = null;
  #commandConnection: RedisConnection | null = null;
  #left = false;
  #sequence = 0;

  /** @throws ConvoyError `invalidConfiguration` for an invalid fleet name or an unusable TLS file */
  constructor(options: FleetLinkOptions) {
    this.#redis = linkFleet(options);
    const { connection, keys, timings } = this.#redis;
    this.#view = new FleetView(this.#redis, {
      hearsAll: false,
      onVacant: () => this.#membership?.election.campaignSoon(),
    });
    this.#details = new DetailsWriter(this.#redis, timings.reportRetention_ms);
    this.#wakes = new ThrottledPublisher(connection, keys.wakeChannel, timings.publishGap_ms);
    this.#ddlWatermarks = new ThrottledPublisher(connection, keys.ddlWatermarkChannel, timings.publishGap_ms);
  }

  /**
   * @throws ConvoyError `identityTaken`, `redisUnavailable`; the connections are then closed, and another attempt needs
   * a new object
   */
  async join(identity: InstanceIdentity): Promise<void> {
    if (this.#membership !== null || this.#left) throw new Error('a fleet is joined once');
    const lease = new IdentityLease(this.#redis, identity);
    try {
      await lease.claim(() => this.#logIdentityAwaited(identity.id));
      await this.#view.open();
    } catch (error) {
      const explained = this.#redis.connections.explained(error);
      await this.leave();
      throw explained;
    }
    this.#view.own(identity);
    this.#membership = {
      identity,
      lease,
      heartbeat: this.#makeHeartbeat(identity),
      election: this.#makeElection(identity),
    };
    this.#membership.heartbeat.start();
    this.#membership.election.start();
    this.#redis.logger.info(
      { event: 'fleetJoined', id: identity.id, incarnation: identity.incarnation },
      'joined the fleet',
    );
  }

  report(report: InstanceReport): void {
    if (this.#left) return;
    this.#sequence += 1;
    this.#view.put({ kind: 'report', reportedAt_ms: systemTime.now_ms(), sequence: this.#sequence, report });
    this.#membership?.heartbeat.publish(report);
  }

  publishDetails<Topic extends DetailTopic>(topic: Topic, content: PublishedDetails[Topic]): void {
    if (this.#membership === null || this.#left) return;
    this.#details.send(topic, this.#membership.identity.id, content);
  }

  reports(): ReadonlyMap<string, SeenReport> {
    return this.#view.reports();
  }

  leader(): Leader | null {
    return this.#view.leader();
  }

  isLeader(): boolean {
    return this.#membership?.election.isLeader() ?? false;
  }

  async isReplaced(): Promise<boolean> {
    return (await this.#membership?.lease.isTaken().catch(() => false)) ?? false;
  }

  watch(listener: (news: ReadonlySet<FleetNews>) => void): () => void {
    return this.#view.watchers.add(listener);
  }

  serve(handler: CommandHandler): void {
    if (this.#membership === null || this.#handler !== null)
      throw new Error('commands are served once, after the fleet was joined');
    this.#handler = handler;
    this.#startWorker(this.#membership.identity.id);
  }

  wake(): void {
    this.#notify('wake', this.#wakes);
  }

  announceDdlWatermark(): void {
    this.#notify('ddlWatermark', this.#ddlWatermarks);
  }

  #notify(news: 'wake' | 'ddlWatermark', publisher: ThrottledPublisher): void {
    if (this.#membership === null || this.#left) return;
    this.#view.watchers.notify(news);
    publisher.send(this.#redis.signature.seal(news, [], this.#membership.identity.incarnation));
  }

  question(topic: QuestionTopic): Promise<StartQuestion | null> {
    return readQuestion(this.#redis, topic);
  }

  /**
   * Of refused messages. And while Redis is lost: commands of coordinators do not arrive, and they show this instance
   * as silent.
   */
  warnings(): Warning[] {
    if (this.#left) return [];
    const refused = this.#redis.signature.warnings();
    if (isOpen(this.#redis.connection)) return refused;
    const said =
      'Redis is unreachable from this instance: coordinators neither hear nor command it. A migration continues.';
    const description = `${said}${causeOf({ whyDisconnected: this.#redis.connections.failureText })}`;
    return [...refused, { name: 'redisUnavailable', description }];
  }

  refusedMessages(): ReadonlyMap<string, number> {
    const counts = this.#redis.signature.refused();
    return new Map(refusalReasons.map((reason) => [reason, counts.get(reason) ?? 0]));
  }

  async leave(): Promise<void> {
    if (this.#left) return;
    this.#left = true;
    this.#details.stop();
    this.#wakes.stop();
    this.#ddlWatermarks.stop();
    const membership = this.#membership;
    // First, so that another instance leads while a running command delays the leave.
    if (membership !== null) await this.#giveBack('leadership', () => membership.election.resign());
    await this.#stopWorker();
    if (membership !== null) {
      await membership.heartbeat.stop();
      await this.#giveBack('identity', () => membership.lease.release());
    }
    await this.#view.close();
    this.#redis.connections.close();
  }

  async #giveBack(what: 'leadership' | 'identity', release: () => Promise<unknown>): Promise<void> {
    try {
      await release();
      this.#redis.logger.info({ event: 'givenBack', what }, 'released a lease');
    } catch (error) {
      this.#redis.logger.warn(
        { event: 'leaveFailed', what, reason: redisFailureReason(error) },
        'cannot release a lease, it will expire',
      );
    }
  }

  #makeHeartbeat(identity: InstanceIdentity): Heartbeat {
    return new Heartbeat({
      ...this.#redis,
      identity,
      hearsAll: () => this.isLeader(),
      onHeld: (held) => this.#onIdentityHeld(held),
      onRoster: (roster, askedAt_ms) => void this.#view.seeRoster(roster, askedAt_ms),
    });
  }

  #makeElection({ id, syncID, incarnation }: InstanceIdentity): LeaderElection {
    const { limit_ms, timings } = this.#redis;
    const lease_ms = timings.leaderLease_ms;
    return new LeaderElection({
      ...this.#redis,
      lease: new LeaderLease({ ...this.#redis, limit_ms: Math.min(limit_ms, lease_ms / RENEWALS_PER_LEASE) }),
      lease_ms,
      candidate: { id, syncID, incarnation },
      view: this.#view.leaderView,
      watchers: this.#view.watchers,
      reports: () => this.reports(),
    });
  }

  /**
   * Handles two processes with one id: the one without the lease neither leads nor runs commands until the lease is
   * free.
   */
  #onIdentityHeld(held: boolean): void {
    if (this.#membership === null || this.#left) return;
    const { identity, election } = this.#membership;
    if (held) this.#redis.logger.warn({ event: 'identityRegained', id: identity.id }, 'regained the instance id');
    else
      this.#redis.logger.error(
        { event: 'identityTaken', id: identity.id },
        'another process took over the instance id: stop one of the two',
      );
    election.suspend(!held);
    if (held && this.#handler !== null) this.#startWorker(identity.id);
    else void this.#stopWorker();
  }

  #logIdentityAwaited(id: string): void {
    const seconds = Math.ceil(this.#redis.timings.identityLease_ms / 1000);
    this.#redis.logger.info(
      { event: 'identityAwaited', id },
      `another process has used this id; waiting up to ${seconds} s to see whether it still lives`,
    );
  }

  #startWorker(instanceId: string): void {
    if (this.#handler === null || this.#worker !== null) return;
    this.#commandConnection ??= this.#redis.connections.patient();
    const redis = { ...this.#redis, connection: this.#commandConnection };
    this.#worker = new CommandWorker(redis, instanceId, this.#handler, this.#handled, this.#redis.logger);
  }

  async #stopWorker(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    await worker?.close(this.#redis.timings.leaveWait_ms);
  }
}

/**
 * Publishes on one channel at most once per interval: always the last message, skipping earlier ones. An undeliverable
 * message is lost: receivers get the next one, or read the metadata database. While Redis does not respond, only one
 * message waits.
 */
export class ThrottledPublisher {
  #timer: NodeJS.Timeout | undefined;
  #isBusy = false;
  #next: string | null = null;

  constructor(
    private readonly connection: RedisConnection,
    private readonly channel: string,
    private readonly gap_ms: number,
  ) {}

  send(message: string): void {
    this.#next = message;
    if (!this.#isBusy) this.#sendNext();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#next = null;
    this.#isBusy = true;
  }

  #sendNext(): void {
    const message = this.#next;
    this.#next = null;
    this.#isBusy = message !== null;
    if (message === null) return;
    const gap = new Promise<void>((resolve) => {
      this.#timer = setTimeout(resolve, this.gap_ms);
    });
    const published = this.connection.publish(this.channel, message).catch(() => undefined);
    void Promise.all([published, gap]).then(() => this.#sendNext());
  }
}
