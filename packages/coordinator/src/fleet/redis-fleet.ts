import type { Logger } from 'pino';
import type { Warning } from '@convoy/api/contract/progress';
import type { Secret } from '@convoy/api/configuration/secret';
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
import { LeaderElection, RENEWALS_PER_LEASE } from '../election/leader-election.js';
import { LeaderLease } from '../election/leader-lease.js';
import { mayLead } from '../election/may-lead.js';
import { CommandLedger } from '../fanout/command-ledger.js';
import { CommandWorker } from '../fanout/command-worker.js';
import { Heartbeat } from '../membership/heartbeat.js';
import { IdentityLease } from '../membership/identity-lease.js';
import { DetailsPublisher } from '../membership/published-details.js';
import { StartQuestions } from '../membership/start-questions.js';
import { ThrottledPublisher } from '../membership/throttled-publisher.js';
import { RedisConnections } from '../redis/connections.js';
import { causeOf } from '../progress/warnings.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import { fleetKeys } from '../redis/keys.js';
import type { FleetKeys } from '../redis/keys.js';
import { redisFailureReason } from '../redis/redis-failure.js';
import { logRedisExposure } from '../redis/redis-exposure.js';
import type { RedisSettings } from '../redis/redis-settings.js';
import { FleetSignature, refusalReasons } from '../redis/signature.js';
import { systemTime } from '@convoy/api/time/time-source';
import { FleetView } from './fleet-view.js';
import { fleetTimingsDefault } from './timings.js';
import type { FleetTimings } from './timings.js';

export interface RedisFleetOptions {
  readonly redis: RedisSettings;
  /** Name of the fleet; fleets that share a Redis never see each other. */
  readonly fleet: string;
  /** Signs the messages of the fleet; all processes need the same. */
  readonly fleetSecret?: Secret | undefined;
  readonly logger: Logger;
  readonly timings?: Partial<FleetTimings>;
}

/** State between join and leave. */
interface Membership {
  readonly identity: InstanceIdentity;
  readonly lease: IdentityLease;
  readonly heartbeat: Heartbeat;
  readonly election: LeaderElection;
}

/** One instance's fleet over Redis. One object serves one membership: it cannot join again after it left. */
export class RedisFleet implements Fleet {
  readonly #logger: Logger;
  readonly #timings: FleetTimings;
  readonly #keys: FleetKeys;
  readonly #signature: FleetSignature;
  readonly #connections: RedisConnections;
  readonly #connection: RedisConnection;
  readonly #view: FleetView;
  readonly #wakes: ThrottledPublisher;
  readonly #ddlWatermarks: ThrottledPublisher;
  readonly #details: DetailsPublisher;
  readonly #questions: StartQuestions;
  readonly #ledger = new CommandLedger();
  #membership: Membership | null = null;
  #handler: CommandHandler | null = null;
  #worker: CommandWorker | null = null;
  #commandConnection: RedisConnection | null = null;
  #left = false;
  #sequence = 0;

  /** @throws ConvoyError `invalidConfiguration` for an invalid fleet name or an unusable TLS file */
  constructor(options: RedisFleetOptions) {
    this.#logger = options.logger;
    this.#timings = { ...fleetTimingsDefault, ...options.timings };
    this.#keys = fleetKeys(options.fleet, options.redis.keyPrefix);
    this.#signature = new FleetSignature(options.fleetSecret, this.#keys.root, systemTime, this.#logger);
    logRedisExposure(options.redis, this.#logger);
    this.#connections = new RedisConnections(options.redis, options.logger, this.#timings.redisCall_ms);
    this.#connection = this.#connections.bounded();
    this.#view = new FleetView({
      connection: this.#connection,
      subscriber: this.#connections.subscriber(),
      keys: this.#keys,
      signature: this.#signature,
      timings: this.#timings,
      clock: systemTime,
      logger: this.#logger,
      hearsAll: false,
      onVacant: () => this.#membership?.election.campaignSoon(),
    });
    const { redisCall_ms: limit_ms, reportRetention_ms } = this.#timings;
    const redis = { connection: this.#connection, keys: this.#keys, signature: this.#signature, limit_ms };
    this.#details = new DetailsPublisher(redis, reportRetention_ms);
    this.#questions = new StartQuestions(redis);
    this.#wakes = new ThrottledPublisher(this.#connection, this.#keys.wakeChannel, this.#timings.publishGap_ms);
    this.#ddlWatermarks = new ThrottledPublisher(
      this.#connection,
      this.#keys.ddlWatermarkChannel,
      this.#timings.publishGap_ms,
    );
  }

  /**
   * @throws ConvoyError `identityTaken`, `redisUnavailable`; the connections are then closed, and another attempt needs
   * a new object
   */
  async join(identity: InstanceIdentity): Promise<void> {
    if (this.#membership !== null || this.#left) throw new Error('a fleet is joined once');
    const lease = new IdentityLease(this.#connection, this.#keys, identity, this.#timings, this.#signature);
    try {
      await lease.claim(() => this.#logIdentityAwaited(identity.id));
      await this.#view.open();
    } catch (error) {
      const explained = this.#connections.explained(error);
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
    this.#logger.info({ event: 'fleetJoined', id: identity.id, incarnation: identity.incarnation }, 'joined the fleet');
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
    publisher.send(this.#signature.seal(news, [], this.#membership.identity.incarnation));
  }

  question(topic: QuestionTopic): Promise<StartQuestion | null> {
    return this.#questions.read(topic);
  }

  /**
   * Of refused messages. And while Redis is lost: commands of coordinators do not arrive, and they show this instance
   * as silent.
   */
  warnings(): Warning[] {
    if (this.#left) return [];
    const refused = this.#signature.warnings();
    if (['ready', 'connect'].includes(this.#connection.status)) return refused;
    const said =
      'Redis is unreachable from this instance: coordinators neither hear nor command it. A migration continues.';
    const description = `${said}${causeOf({ whyDisconnected: this.#connections.failureText })}`;
    return [...refused, { name: 'redisUnavailable', description }];
  }

  refusedMessages(): ReadonlyMap<string, number> {
    const counts = this.#signature.refused();
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
    this.#connections.close();
  }

  async #giveBack(what: 'leadership' | 'identity', release: () => Promise<unknown>): Promise<void> {
    try {
      await release();
      this.#logger.info({ event: 'givenBack', what }, 'released a lease');
    } catch (error) {
      this.#logger.warn(
        { event: 'leaveFailed', what, reason: redisFailureReason(error) },
        'cannot release a lease, it will expire',
      );
    }
  }

  #makeHeartbeat(identity: InstanceIdentity): Heartbeat {
    return new Heartbeat({
      connection: this.#connection,
      keys: this.#keys,
      signature: this.#signature,
      identity,
      timings: this.#timings,
      clock: systemTime,
      logger: this.#logger,
      hearsAll: () => this.isLeader(),
      onHeld: (held) => this.#onIdentityHeld(held),
      onRoster: (roster, askedAt_ms) => void this.#view.seeRoster(roster, askedAt_ms),
    });
  }

  #makeElection({ id, syncID, incarnation }: InstanceIdentity): LeaderElection {
    const lease_ms = this.#timings.leaderLease_ms;
    return new LeaderElection({
      lease: new LeaderLease(
        this.#connection,
        this.#keys,
        Math.min(this.#timings.redisCall_ms, lease_ms / RENEWALS_PER_LEASE),
      ),
      lease_ms,
      candidate: { id, syncID, incarnation },
      view: this.#view.leaderView,
      watchers: this.#view.watchers,
      clock: systemTime,
      logger: this.#logger,
      mayLead: () => mayLead(id, this.reports()),
    });
  }

  /**
   * Handles two processes with one id: the one without the lease neither leads nor runs commands until the lease is
   * free.
   */
  #onIdentityHeld(held: boolean): void {
    if (this.#membership === null || this.#left) return;
    const { identity, election } = this.#membership;
    if (held) this.#logger.warn({ event: 'identityRegained', id: identity.id }, 'regained the instance id');
    else
      this.#logger.error(
        { event: 'identityTaken', id: identity.id },
        'another process took over the instance id: stop one of the two',
      );
    election.suspend(!held);
    if (held && this.#handler !== null) this.#startWorker(identity.id);
    else void this.#stopWorker();
  }

  #logIdentityAwaited(id: string): void {
    const seconds = Math.ceil(this.#timings.identityLease_ms / 1000);
    this.#logger.info(
      { event: 'identityAwaited', id },
      `another process has used this id; waiting up to ${seconds} s to see whether it still lives`,
    );
  }

  #startWorker(instanceId: string): void {
    if (this.#handler === null || this.#worker !== null) return;
    this.#commandConnection ??= this.#connections.patient();
    const redis = {
      connection: this.#commandConnection,
      keys: this.#keys,
      signature: this.#signature,
      limit_ms: this.#timings.redisCall_ms,
    };
    this.#worker = new CommandWorker(redis, instanceId, this.#handler, this.#ledger, this.#logger);
  }

  async #stopWorker(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    await worker?.close(this.#timings.leaveWait_ms);
  }
}
