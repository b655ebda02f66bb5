import { Queue, QueueEvents } from 'bullmq';
import type { Logger } from 'pino';
import { ConvoyError, toConvoyError } from '@convoy/api/errors/convoy-error';
import type { CommandResult, FleetCommand } from '@convoy/api/fleet/fleet';
import type { RedisConnection } from '../redis/redis-connection.js';
import type { FleetKeys } from '../redis/keys.js';
import { callRedis, redisFailureReason } from '../redis/redis-failure.js';
import { redisTime_ms } from '../redis/redis-time.js';
import { settleWithin } from '../time/settle-within.js';
import { EVENTS_RETAINED, jobOptions, readResult } from './command-job.js';
import type { CommandJobData } from './command-job.js';

export interface CommandSenderDependencies {
  /** A patient connection; it is duplicated for blocking calls. */
  readonly connection: RedisConnection;
  readonly keys: FleetKeys;
  readonly redisCall_ms: number;
  readonly logger: Logger;
}

/**
 * What an instance returns for a command, or null when it does not within the limit, or its job has failed (it stalled).
 * BullMQ's own wait is not used: it loses the rejection when the connection breaks, which would end the process.
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

/** Puts one command into the queue of one instance each, and waits for the results. */
export class CommandSender {
  readonly #parts: CommandSenderDependencies;

  constructor(parts: CommandSenderDependencies) {
    this.#parts = parts;
  }

  /**
   * Sends the command to all instances at once. Sending it again under the same `commandId` only waits for its results.
   * @param limit_ms how long to wait for an instance; one that takes the command later does not carry it out
   * @returns the result of each instance by id; `commandTimedOut` for one that has not answered in time
   * @throws ConvoyError `redisUnavailable` when nothing was sent
   */
  async send(command: FleetCommand, ids: readonly string[], limit_ms: number): Promise<Map<string, CommandResult>> {
    const sentAt_ms = await callRedis(redisTime_ms(this.#parts.connection, this.#parts.keys), this.#parts.redisCall_ms);
    const data: CommandJobData = { name: command.name, body: command.body, expiresAt_ms: sentAt_ms + limit_ms };
    const results = await Promise.all(
      ids.map(async (id): Promise<[string, CommandResult]> => [
        id,
        await this.#sendTo(id, command.commandId, data, sentAt_ms, limit_ms),
      ]),
    );
    return new Map(results);
  }

  async #sendTo(
    id: string,
    commandId: string,
    data: CommandJobData,
    sentAt_ms: number,
    limit_ms: number,
  ): Promise<CommandResult> {
    const { connection, keys } = this.#parts;
    const name = keys.queueName(id);
    const common = { connection, prefix: keys.queuePrefix };
    const queue = new Queue<CommandJobData, CommandResult>(name, {
      ...common,
      streams: { events: { maxLen: EVENTS_RETAINED } },
    });
    // Read from the moment of sending, so that no event is missed however fast the instance answers.
    const events = new QueueEvents(name, { ...common, lastEventId: `${sentAt_ms}-0` });
    queue.on('error', this.#onError);
    events.on('error', this.#onError);
    try {
      return await this.#exchange(queue, events, commandId, data, limit_ms);
    } catch (thrown) {
      const error = toConvoyError(thrown);
      return { success: false, error: error.error, errorDescription: error.errorDescription };
    } finally {
      await settleWithin([events.close(), queue.close()], this.#parts.redisCall_ms);
    }
  }

  async #exchange(
    queue: Queue<CommandJobData, CommandResult>,
    events: QueueEvents,
    commandId: string,
    data: CommandJobData,
    limit_ms: number,
  ): Promise<CommandResult> {
    const { redisCall_ms, logger } = this.#parts;
    const answer = nextAnswer(events, commandId, limit_ms);
    try {
      const job = await callRedis(queue.add(data.name, data, { ...jobOptions, jobId: commandId }), redisCall_ms);
      // A command that was sent before may have its result already, and then no event follows.
      const known = await callRedis(queue.getJob(String(job.id)), redisCall_ms);
      const result = readResult(known?.finishedOn === undefined ? await answer.value : known.returnvalue);
      if (result !== null) return result;
    } finally {
      answer.cancel();
    }
    logger.debug({ event: 'commandUnanswered', commandId }, 'no result in time');
    throw new ConvoyError(
      'commandTimedOut',
      `The instance has not answered within ${limit_ms} ms; read progress, then repeat the command.`,
    );
  }

  readonly #onError = (error: Error): void => {
    this.#parts.logger.debug(
      { event: 'commandQueueFailed', reason: redisFailureReason(error) },
      'a command queue failed, it is retried',
    );
  };
}
