import { type Job, Queue, QueueEvents } from 'bullmq';
import type { Logger } from 'pino';
import { ConvoyError, toConvoyError } from '@convoy/api/errors/convoy-error';
import type { CommandResult, FleetCommand } from '@convoy/api/fleet/fleet';
import { callRedis, isErrorReply, redisFailureReason } from '../redis/redis-failure.js';
import { redisTime_ms, type SignedRedis } from '../redis/signed-redis.js';
import { settleWithin } from '../time/settle-within.js';
import { EVENTS_RETAINED, jobOptions, openResult, sealJobData } from './command-job.js';

/**
 * Instances that a command is added for at once: each takes a connection and some milliseconds of this process, and
 * with hundreds at once the calls would exceed their time limit.
 */
const ADDED_AT_ONCE_MAX = 32;

/**
 * The part of the time limit in which one instance takes a start alone. It checks both clusters by commands for each
 * collection, and the others join what it records.
 */
const START_AHEAD_PART = 1 / 3;

/**
 * An instance's result for a command; null when none arrives within the limit or the job fails (stalled). It does not
 * use BullMQ's own wait, which loses the rejection when the connection breaks, and that would end the process.
 */
function nextAnswer(
  events: QueueEvents,
  commandId: string,
  limit_ms: number,
): { value: Promise<unknown>; cancel: () => void } {
  let timer: NodeJS.Timeout | undefined;
  const value = new Promise<unknown>((resolve) => {
    timer = setTimeout(() => resolve(null), limit_ms);
    events.on('completed', ({ jobId, returnvalue }) => {
      if (jobId === commandId) resolve(returnvalue);
    });
    events.on('failed', ({ jobId }) => {
      if (jobId === commandId) resolve(null);
    });
  });
  return { value, cancel: () => clearTimeout(timer) };
}

/** A command on its way to a fleet. */
interface CommandInFlight {
  command: FleetCommand;
  limit_ms: number;
  /** By the clock of Redis. */
  sentAt_ms: number;
  /** When the time limit ends, by this process's monotonic clock. */
  endsAt_ms: number;
  /** Queues that are being closed: nobody waits for that before the next instance has the command. */
  closing: Promise<void>[];
}

/** An instance's result to come, with its id. */
type Reply = Promise<[id: string, result: CommandResult]>;

/** Adds a command to each instance's queue, and waits for the results. */
export class CommandSender {
  /** @param redis with a connection that waits for Redis; it is duplicated for blocking calls */
  constructor(
    private readonly redis: SignedRedis,
    private readonly logger: Logger,
  ) {}

  /**
   * Sends the command to all instances, without waiting for replies in between; a start goes to one of them ahead.
   * Repeating it under the same `commandId` only waits for its results.
   * @param limit_ms time limit; an instance that receives the command later does not run it
   * @returns each instance's result by id; `commandTimedOut` for one without a result in time
   * @throws ConvoyError `redisUnavailable` when nothing was sent
   */
  async send(command: FleetCommand, ids: readonly string[], limit_ms: number): Promise<Map<string, CommandResult>> {
    const sentAt_ms = await redisTime_ms(this.redis);
    const sent = {
      command,
      limit_ms,
      sentAt_ms,
      endsAt_ms: performance.now() + limit_ms,
      closing: new Array<Promise<void>>(),
    };
    const ahead = command.name === 'start' && ids.length > 1 ? ids.slice(0, 1) : [];
    const replies: Reply[] = [];
    if (ahead.length > 0) {
      replies.push(...(await this.#sendToEach(ahead, sent)));
      await settleWithin(replies, limit_ms * START_AHEAD_PART);
    }
    replies.push(...(await this.#sendToEach(ids.slice(ahead.length), sent)));
    const results = new Map(await Promise.all(replies));
    await Promise.all(sent.closing);
    return results;
  }

  /** @returns the replies to come, once every instance has its command */
  async #sendToEach(ids: readonly string[], sent: CommandInFlight): Promise<Reply[]> {
    const replies: Reply[] = [];
    for (let at = 0; at < ids.length; at += ADDED_AT_ONCE_MAX) {
      const some = ids.slice(at, at + ADDED_AT_ONCE_MAX);
      const added = some.map(
        (id) =>
          new Promise<void>((onAdded) => {
            replies.push(this.#sendTo(id, sent, onAdded).then((result) => [id, result]));
          }),
      );
      await Promise.all(added);
    }
    return replies;
  }

  /** @param onAdded called once the command is added, or cannot be */
  async #sendTo(id: string, sent: CommandInFlight, onAdded: () => void): Promise<CommandResult> {
    const { connection, keys, limit_ms: redisCall_ms } = this.redis;
    const name = keys.queueName(id);
    const common = { connection, prefix: keys.queuePrefix };
    const queue = new Queue<unknown, unknown>(name, {
      ...common,
      streams: { events: { maxLen: EVENTS_RETAINED } },
    });
    // Starts reading at the moment of sending, so that it misses no event, however fast the instance is.
    const events = new QueueEvents(name, { ...common, lastEventId: `${sent.sentAt_ms}-0` });
    queue.on('error', this.#onError);
    events.on('error', this.#onError);
    try {
      return await this.#exchange(queue, events, id, sent, onAdded);
    } catch (thrown) {
      const error = toConvoyError(thrown);
      return { success: false, error: error.error, errorDescription: error.errorDescription };
    } finally {
      onAdded();
      sent.closing.push(settleWithin([events.close(), queue.close()], redisCall_ms));
    }
  }

  async #exchange(
    queue: Queue<unknown, unknown>,
    events: QueueEvents,
    id: string,
    { command: { commandId, name, body }, sentAt_ms, limit_ms, endsAt_ms }: CommandInFlight,
    onAdded: () => void,
  ): Promise<CommandResult> {
    const { signature } = this.redis;
    const sealed = sealJobData(signature, id, commandId, { name, body, expiresAt_ms: sentAt_ms + limit_ms });
    const answer = nextAnswer(events, commandId, endsAt_ms - performance.now());
    try {
      const known = await this.#add(queue, name, sealed, commandId);
      onAdded();
      const result = openResult(
        signature,
        id,
        commandId,
        known?.finishedOn === undefined ? await answer.value : known.returnvalue,
      );
      if (result !== null) return result;
    } finally {
      answer.cancel();
    }
    this.logger.debug({ event: 'commandUnanswered', commandId }, 'no result within the time limit');
    throw new ConvoyError(
      'commandTimedOut',
      `The instance did not respond within ${limit_ms} ms. Read progress, then repeat the command.`,
    );
  }

  /**
   * Adds a command to a queue. A repeated one may already have its result; then no event follows.
   * @returns undefined without Redis's confirmation: it may have the command or still get it, so only the answer shows
   * @throws ConvoyError `redisUnavailable` when Redis refuses the command
   */
  async #add(
    queue: Queue<unknown, unknown>,
    name: string,
    sealed: unknown,
    commandId: string,
  ): Promise<Job<unknown, unknown> | undefined> {
    const { limit_ms } = this.redis;
    try {
      await callRedis(queue.add(name, sealed, { ...jobOptions, jobId: commandId }), limit_ms);
    } catch (error) {
      if (isErrorReply(error)) throw error;
      this.#logUnconfirmed(commandId, error);
      return undefined;
    }
    return callRedis(queue.getJob(commandId), limit_ms).catch((error: unknown) => {
      this.#logUnconfirmed(commandId, error);
      return undefined;
    });
  }

  #logUnconfirmed(commandId: string, error: unknown): void {
    this.logger.debug(
      { event: 'commandUnconfirmed', commandId, reason: redisFailureReason(error) },
      'Redis has not confirmed a command, waiting for its result',
    );
  }

  readonly #onError = (error: Error): void => {
    this.logger.debug(
      { event: 'commandQueueFailed', reason: redisFailureReason(error) },
      'command queue failed, retrying',
    );
  };
}
