import type { Warning } from '@convoy/api/contract/progress';
import type { CommandResult, FleetCommand, Leader, SeenReport } from '@convoy/api/fleet/fleet';
import { type DetailTopic, fleetTopics, type PublishedDetails } from '@convoy/api/fleet/published-details';
import type { QuestionTopic, StartQuestion } from '@convoy/api/fleet/start-question';
import type { FleetConsole } from '../director/fleet-console.js';
import { RedisOutbox } from '../notifications/redis-outbox.js';
import { notSent, redisFailureReason } from '../redis/redis-failure.js';
import { redisExposure } from '../redis/redis-settings.js';
import { isOpen } from '../redis/signed-redis.js';
import { PeriodicTask } from '../time/periodic-task.js';
import { CommandSender } from './command-sender.js';
import { type FleetLink, type FleetLinkOptions, linkFleet } from './fleet-link.js';
import { FleetView } from './fleet-view.js';
import { RENEWALS_PER_LEASE } from './leader-election.js';
import { askQuestion, readDetails } from './published-details.js';

/** Any id finds details of which the fleet has one. */
const FLEET_ID = 'fleet';

/** One coordinator process's fleet over Redis. */
export class RedisConsole implements FleetConsole {
  readonly outbox: RedisOutbox;
  readonly freshFor_ms: number;
  readonly #link: FleetLink;
  readonly #view: FleetView;
  readonly #sender: CommandSender;
  readonly #leaderTask: PeriodicTask;
  readonly #exposure: readonly Warning[];

  /** @throws ConvoyError `invalidConfiguration` for an invalid fleet name or an unusable TLS file */
  constructor(options: FleetLinkOptions) {
    this.#link = linkFleet(options);
    const { connections, logger, timings } = this.#link;
    this.freshFor_ms = timings.identityLease_ms;
    this.outbox = new RedisOutbox(this.#link);
    this.#exposure = redisExposure(options.redis);
    this.#view = new FleetView(this.#link, { hearsAll: true });
    this.#sender = new CommandSender({ ...this.#link, connection: connections.patient() }, logger);
    this.#leaderTask = new PeriodicTask(timings.leaderLease_ms / RENEWALS_PER_LEASE, () => this.#readLeader());
  }

  async open(): Promise<void> {
    try {
      await this.#view.open();
    } catch (error) {
      const explained = this.#link.connections.explained(error);
      await this.close();
      throw explained;
    }
    this.#leaderTask.start();
  }

  async close(): Promise<void> {
    await this.#leaderTask.stop();
    await this.#view.close();
    this.#link.connections.close();
  }

  isConnected(): boolean {
    return isOpen(this.#link.connection);
  }

  get whyDisconnected(): string | null {
    return this.#link.connections.failureText;
  }

  watch(listener: () => void): () => void {
    return this.#view.watchers.add(listener);
  }

  reports(): ReadonlyMap<string, SeenReport> {
    return this.#view.reports();
  }

  leader(): Leader | null {
    return this.#view.leader();
  }

  silent_ms(id: string): number {
    return this.#link.clock.monotonic_ms() - (this.#view.board.heardAt_ms(id) ?? Number.NEGATIVE_INFINITY);
  }

  warnings(): Warning[] {
    return [...this.#exposure, ...this.#link.signature.warnings()];
  }

  refusedMessages(): ReadonlyMap<string, number> {
    return this.#link.signature.refused();
  }

  async send(command: FleetCommand, ids: readonly string[], limit_ms: number): Promise<Map<string, CommandResult>> {
    try {
      return await this.#sender.send(command, ids, limit_ms);
    } catch (error) {
      throw notSent(error, command.name, this.whyDisconnected);
    }
  }

  details<Topic extends DetailTopic>(topic: Topic): AsyncGenerator<[id: string, details: PublishedDetails[Topic]]> {
    return readDetails(this.#link, topic, fleetTopics.includes(topic) ? [FLEET_ID] : [...this.reports().keys()]);
  }

  ask(topic: QuestionTopic, question: StartQuestion): Promise<void> {
    return askQuestion(this.#link, topic, question);
  }

  async #readLeader(): Promise<void> {
    try {
      await this.#view.refreshLeader();
    } catch (error) {
      this.#link.logger.debug(
        { event: 'leaderUnknown', reason: redisFailureReason(error) },
        'cannot read the leader lease',
      );
    }
  }
}
