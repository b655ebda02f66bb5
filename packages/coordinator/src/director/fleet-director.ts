import { randomUUID } from 'node:crypto';
import type { CommandName } from '@convoy/api/contract/commands';
import type { FleetInstance } from '@convoy/api/contract/fleet-progress';
import type { Mismatch } from '@convoy/api/contract/mismatch';
import type { Warning } from '@convoy/api/contract/progress';
import type { CommandResult, FleetCommand } from '@convoy/api/fleet/fleet';
import { type DetailTopic, fleetTopics, type PublishedDetails } from '@convoy/api/fleet/published-details';
import type { QuestionTopic, StartQuestion } from '@convoy/api/fleet/start-question';
import type { Acceptance } from '@convoy/api/http/contract-service';
import { systemTime } from '@convoy/api/time/time-source';
import { CommandSender } from '../fleet/command-sender.js';
import { type FleetLink, linkFleet, type FleetLinkOptions } from '../fleet/fleet-link.js';
import { FleetView } from '../fleet/fleet-view.js';
import { RENEWALS_PER_LEASE } from '../fleet/leader-election.js';
import { DetailsReader, StartQuestions } from '../fleet/published-details.js';
import { RedisOutbox } from '../notifications/redis-outbox.js';
import { aggregateProgress, type GlobalProgress } from '../progress/aggregate.js';
import { type FleetSnapshot, membersOf } from '../progress/members.js';
import type { RemainingEstimate } from '../progress/time-remaining.js';
import { isOpen } from '../redis/redis-connection.js';
import { redisExposure } from '../redis/redis-exposure.js';
import { notSent, redisFailureReason } from '../redis/redis-failure.js';
import type { RefusalReason } from '../redis/signature.js';
import { PeriodicTask } from '../time/periodic-task.js';
import { type CommandOutcome, outcomeFailure } from './director-service.js';
import {
  answeringIds,
  LastCommands,
  needNoMessage,
  recordedFor,
  refuseEmptyFleet,
  refuseOtherClusters,
  withoutFollowed,
} from './recipients.js';

/**
 * Time limit for the acknowledgements of all instances together: they record a command durably, which may wait for an
 * election. Clients wait a little longer.
 */
const COMMAND_LIMIT_MS = 30_000;

/** Less time is not worth a message. A timer of the wait before may also fire a little early. */
const SEND_MIN_MS = 5;

/** Maximum remembered commands, for the dashboard. */
const COMMANDS_RETAINED = 20;

/** Any id finds details of which the fleet has one. */
const FLEET_ID = 'fleet';

/** An instance that is away, after those present have answered nothing in all of the time. */
const notSentInTime: CommandResult = {
  success: false,
  error: 'commandTimedOut',
  errorDescription: 'The instance is away, and the others have not answered in time. Read progress, then repeat it.',
};

/** A sent command with each instance's reply. */
export interface SentCommand extends CommandOutcome {
  /** Milliseconds since 1970 of the last reply. */
  readonly at_ms: number;
}

export interface FleetDirectorOptions extends FleetLinkOptions {
  /** Time limit for the instances' acknowledgements, in milliseconds. */
  readonly commandLimit_ms?: number;
}

/**
 * A fleet as a coordinator process observes and controls it, without being a member. Any number of directors may work
 * at once.
 */
export class FleetDirector {
  /** The fleet's notifications. */
  readonly outbox: RedisOutbox;
  readonly #redis: FleetLink;
  readonly #commandLimit_ms: number;
  readonly #view: FleetView;
  readonly #sender: CommandSender;
  readonly #leaderTask: PeriodicTask;
  readonly #last: LastCommands;
  readonly #details: DetailsReader;
  readonly #questions: StartQuestions;
  readonly #exposure: readonly Warning[];
  readonly #sent: SentCommand[] = [];
  #commandsSent = 0;
  #remaining: RemainingEstimate | null = null;

  /** @throws ConvoyError `invalidConfiguration` for an invalid fleet name or an unusable TLS file */
  constructor(options: FleetDirectorOptions) {
    this.#redis = linkFleet(options);
    const { connections, clock, timings } = this.#redis;
    this.#commandLimit_ms = options.commandLimit_ms ?? COMMAND_LIMIT_MS;
    this.#exposure = redisExposure(options.redis);
    this.#details = new DetailsReader(this.#redis);
    this.outbox = new RedisOutbox(this.#redis);
    this.#questions = new StartQuestions(this.#redis);
    this.#view = new FleetView(this.#redis, { hearsAll: true });
    this.#sender = new CommandSender({ ...this.#redis, connection: connections.patient() }, options.logger);
    this.#last = new LastCommands(clock, timings.identityLease_ms);
    this.#leaderTask = new PeriodicTask(timings.leaderLease_ms / RENEWALS_PER_LEASE, () => this.#askForLeader());
  }

  /**
   * Subscribes to the fleet.
   * @throws ConvoyError `redisUnavailable`; the connections are then closed
   */
  async open(): Promise<void> {
    try {
      await this.#view.open();
    } catch (error) {
      const explained = this.#redis.connections.explained(error);
      await this.close();
      throw explained;
    }
    this.#leaderTask.start();
  }

  /** Whether Redis responds, as far as the connection knows. */
  isConnected(): boolean {
    return isOpen(this.#redis.connection);
  }

  /** Why Redis does not respond, and what to do, as far as known; without its address. */
  get whyDisconnected(): string | null {
    return this.#redis.connections.failureText;
  }

  /** Calls the listener after every change. Returns the function that unsubscribes. */
  watch(listener: () => void): () => void {
    return this.#view.watchers.add(listener);
  }

  /** The current snapshot of the fleet. */
  snapshot(): FleetSnapshot {
    const reports = this.#view.reports();
    const monotonic_ms = systemTime.monotonic_ms();
    const silent_ms = new Map(
      [...reports.keys()].map((id) => [
        id,
        monotonic_ms - (this.#view.board.heardAt_ms(id) ?? Number.NEGATIVE_INFINITY),
      ]),
    );
    return {
      reports,
      leader: this.#view.leader(),
      silent_ms,
      now_ms: systemTime.now_ms(),
      isConnected: this.isConnected(),
      whyDisconnected: this.whyDisconnected,
      redisWarnings: [...this.#exposure, ...this.#redis.signature.warnings()],
    };
  }

  /** The progress of the whole fleet. */
  progress(): GlobalProgress {
    const global = aggregateProgress(this.snapshot(), this.#remaining);
    this.#remaining = global.remaining;
    return global;
  }

  /** The verifiers' mismatches, from the instance that reports most. */
  mismatches(): readonly Mismatch[] {
    const reported = [...this.#view.reports().values()].map(({ report }) => report.mismatches ?? []);
    return reported.reduce((most, one) => (one.length > most.length ? one : most), []);
  }

  /** One row per instance. */
  instances(): readonly FleetInstance[] {
    return this.progress().instances;
  }

  /**
   * Sends a command to every instance that can answer and waits for all acknowledgements: a start goes to one of them
   * ahead (`CommandSender`). If some already followed an earlier attempt that others rejected, only the others receive
   * it. The first to accept records it for those that are missing or silent; where none records it, and none refuses
   * it, these receive it too.
   * @param body the command's body for each instance; validate it first
   * @param commandId repeating an id has no further effect and returns the same results
   * @returns the outcome by instance
   * @throws ConvoyError `fleetIncomplete` when no instance is registered, `wrongCluster` for a start while some have
   * other clusters configured, `redisUnavailable` when nothing was sent
   */
  async command(name: CommandName, body: unknown, commandId: string = randomUUID()): Promise<CommandOutcome> {
    const until_ms = systemTime.monotonic_ms() + this.#commandLimit_ms;
    const snapshot = this.snapshot();
    const members = membersOf(snapshot);
    const ids = [...members.registeredIds, ...members.missingIds];
    refuseEmptyFleet(ids, snapshot);
    if (name === 'start') refuseOtherClusters(members);
    const present = answeringIds(ids, snapshot);
    const command = { commandId, name, body };
    const replies = await this.#sendTo(command, present, snapshot, until_ms);
    const absent = needNoMessage(replies) ? [] : ids.filter((id) => !present.includes(id));
    for (const [id, reply] of await this.#sendTo(command, absent, snapshot, until_ms)) replies.set(id, reply);
    const waitingFor = recordedFor(replies) ?? [];
    const results = new Map([...replies].filter(([id]) => !waitingFor.includes(id)));
    const success = [...results.values()].every((result) => result.success);
    const outcome = { commandId, name, success, results, waitingFor };
    this.#note(outcome);
    this.#redis.logger.info(
      { event: 'commandSent', command: name, commandId, instances: ids.length, success, waitingFor },
      'command sent to the fleet',
    );
    return outcome;
  }

  async #sendTo(
    command: FleetCommand,
    ids: readonly string[],
    snapshot: FleetSnapshot,
    until_ms: number,
  ): Promise<Map<string, CommandResult>> {
    if (ids.length === 0) return new Map();
    const open = withoutFollowed(command, ids, snapshot, this.#last);
    const left_ms = Math.ceil(until_ms - systemTime.monotonic_ms());
    if (left_ms <= SEND_MIN_MS)
      return new Map(ids.map((id) => [id, open.includes(id) ? notSentInTime : { success: true }]));
    const sent = await this.#sender.send(command, open, left_ms).catch((error: unknown) => {
      throw notSent(error, command.name, this.whyDisconnected);
    });
    this.#last.note(command.name, sent);
    return new Map(ids.map((id) => [id, sent.get(id) ?? { success: true as const }]));
  }

  /**
   * Like `command`, for callers that want success or one failure.
   * @returns the instances that it is recorded for
   * @throws ConvoyError that lists each instance's result, besides those of `command`
   */
  async commandAll(name: CommandName, body: unknown): Promise<Acceptance> {
    const outcome = await this.command(name, body);
    const failure = outcomeFailure(outcome);
    if (failure !== null) throw failure;
    return { waitingFor: outcome.waitingFor };
  }

  /** The last commands that this process sent, oldest first. */
  commands(): readonly SentCommand[] {
    return this.#sent;
  }

  /**
   * Published details of a topic by instance id.
   * @throws ConvoyError `redisUnavailable`
   */
  details<Topic extends DetailTopic>(topic: Topic): Promise<Map<string, PublishedDetails[Topic]>> {
    return this.#details.read(topic, fleetTopics.includes(topic) ? [FLEET_ID] : [...this.#view.reports().keys()]);
  }

  /**
   * Each instance's published collections, one instance after the other.
   * @throws ConvoyError `redisUnavailable`
   */
  async *namespaceDetails(): AsyncGenerator<PublishedDetails['namespaces']> {
    for await (const [, publishDetails] of this.#details.each('namespaces', [...this.#view.reports().keys()]))
      yield publishDetails;
  }

  /**
   * Each instance's last warnings and errors, one instance after the other.
   * @throws ConvoyError `redisUnavailable`
   */
  logDetails(): AsyncGenerator<[id: string, details: PublishedDetails['logs']]> {
    return this.#details.each('logs', [...this.#view.reports().keys()]);
  }

  /**
   * Asks the leader a question before a start; an earlier one of the topic is forgotten. The answer is among
   * the details of the topic, under the question's id.
   * @throws ConvoyError `redisUnavailable`
   */
  async ask(topic: QuestionTopic, question: StartQuestion): Promise<void> {
    await this.#questions.put(topic, question);
  }

  /** Number of messages without a valid signature, by reason. */
  refusedMessages(): ReadonlyMap<RefusalReason, number> {
    return this.#redis.signature.refused();
  }

  /** Number of commands that this process sent. */
  get commandsSent(): number {
    return this.#commandsSent;
  }

  #note(outcome: CommandOutcome): void {
    this.#commandsSent += 1;
    this.#sent.push({ ...outcome, at_ms: systemTime.now_ms() });
    if (this.#sent.length > COMMANDS_RETAINED) this.#sent.shift();
  }

  async close(): Promise<void> {
    await this.#leaderTask.stop();
    await this.#view.close();
    this.#redis.connections.close();
  }

  async #askForLeader(): Promise<void> {
    try {
      await this.#view.refreshLeader();
    } catch (error) {
      this.#redis.logger.debug(
        { event: 'leaderUnknown', reason: redisFailureReason(error) },
        'cannot read the leader lease',
      );
    }
  }
}
