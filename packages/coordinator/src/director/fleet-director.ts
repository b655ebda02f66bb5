import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { CommandName } from '@convoy/api/contract/commands';
import type { FleetInstance } from '@convoy/api/contract/fleet-progress';
import type { Mismatch } from '@convoy/api/contract/mismatch';
import type { CommandResult, FleetCommand } from '@convoy/api/fleet/fleet';
import { systemTime } from '@convoy/api/time/time-source';
import { aggregateProgress, type GlobalProgress } from './aggregate.js';
import type { FleetConsole } from './fleet-console.js';
import { type FleetSnapshot, membersOf } from './members.js';
import {
  answeringIds,
  LastCommands,
  needNoMessage,
  recordedFor,
  refuseEmptyFleet,
  refuseOtherClusters,
  withoutFollowed,
} from './recipients.js';
import type { RemainingEstimate } from './time-remaining.js';

/**
 * Time limit for the acknowledgements of all instances together: they record a command durably, which may wait for an
 * election. Clients wait a little longer.
 */
const COMMAND_LIMIT_MS = 30_000;

/** Less time is not worth a message. A timer of the wait before may also fire a little early. */
const SEND_MIN_MS = 5;

/** Maximum remembered commands, for the dashboard. */
const COMMANDS_RETAINED = 20;

/** An instance that is away, after those present have answered nothing in all of the time. */
const notSentInTime: CommandResult = {
  success: false,
  error: 'commandTimedOut',
  errorDescription: 'The instance is away, and the others have not answered in time. Read progress, then repeat it.',
};

/** The outcome of a fleet command. */
export interface CommandOutcome {
  readonly commandId: string;
  readonly name: CommandName;
  /** True when every instance that answered accepted it, and it is recorded for the others. */
  readonly success: boolean;
  /** Replies by instance id. */
  readonly results: ReadonlyMap<string, CommandResult>;
  /** Instances without a reply that take the recorded command by themselves. */
  readonly waitingFor: readonly string[];
}

/** A sent command with each instance's reply. */
export interface SentCommand extends CommandOutcome {
  /** Milliseconds since 1970 of the last reply. */
  readonly at_ms: number;
}

/**
 * The progress of a whole fleet, and commands to all of it; what needs no more than a fleet's console reads that. Any
 * number of directors may work at once.
 */
export class FleetDirector {
  readonly #last: LastCommands;
  readonly #sent: SentCommand[] = [];
  #commandsSent = 0;
  #remaining: RemainingEstimate | null = null;

  /** @param commandLimit_ms time limit for the instances' acknowledgements */
  constructor(
    readonly fleet: FleetConsole,
    private readonly logger: Logger,
    private readonly commandLimit_ms = COMMAND_LIMIT_MS,
  ) {
    this.#last = new LastCommands(systemTime, fleet.freshFor_ms);
  }

  /** Calls the listener after every change. Returns the function that unsubscribes. */
  watch(listener: () => void): () => void {
    return this.fleet.watch(listener);
  }

  /** The current snapshot of the fleet. */
  snapshot(): FleetSnapshot {
    const reports = this.fleet.reports();
    return {
      reports,
      leader: this.fleet.leader(),
      silent_ms: new Map([...reports.keys()].map((id) => [id, this.fleet.silent_ms(id)])),
      now_ms: systemTime.now_ms(),
      isConnected: this.fleet.isConnected(),
      whyDisconnected: this.fleet.whyDisconnected,
      redisWarnings: this.fleet.warnings(),
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
    const reported = [...this.fleet.reports().values()].map(({ report }) => report.mismatches ?? []);
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
    const until_ms = systemTime.monotonic_ms() + this.commandLimit_ms;
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
    this.logger.info(
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
    const sent = await this.fleet.send(command, open, left_ms);
    this.#last.note(command.name, sent);
    return new Map(ids.map((id) => [id, sent.get(id) ?? { success: true as const }]));
  }

  /** The last commands that this process sent, oldest first. */
  commands(): readonly SentCommand[] {
    return this.#sent;
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
}
