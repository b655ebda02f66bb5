import { type Job, Worker } from 'bullmq';
import type { Logger } from 'pino';
import { toConvoyError } from '@convoy/api/errors/convoy-error';
import type { CommandHandler, CommandResult } from '@convoy/api/fleet/fleet';
import { redisFailureReason } from '../redis/redis-failure.js';
import { redisTime_ms, type SignedRedis } from '../redis/signed-redis.js';
import { settleWithin } from '../time/settle-within.js';
import { COMMAND_ATTEMPTS_MAX, openJobData, sealResult } from './command-job.js';

const expired: CommandResult = {
  success: false,
  error: 'commandTimedOut',
  errorDescription: 'The command reached the instance after its time limit, so it did not run. Repeat it.',
};

const unreadable: CommandResult = {
  success: false,
  error: 'internalError',
  errorDescription: 'The instance cannot parse the command. Run the same release in all processes.',
};

const notSigned: CommandResult = {
  success: false,
  error: 'commandNotSigned',
  errorDescription:
    'The instance accepts only commands that were signed with its fleetSecret. Set the same everywhere.',
};

/** Runs the commands of one instance from its queue, one at a time, and returns their results. */
export class CommandWorker {
  readonly #worker: Worker<unknown, unknown>;

  /** @param redis with a connection that waits for Redis; the worker duplicates it for its blocking calls */
  constructor(
    private readonly redis: SignedRedis,
    private readonly instanceId: string,
    private readonly handler: CommandHandler,
    private readonly handled: HandledCommands,
    private readonly logger: Logger,
  ) {
    const { connection, keys } = redis;
    this.#worker = new Worker<unknown, unknown>(keys.queueName(instanceId), (job) => this.#process(job), {
      connection,
      prefix: keys.queuePrefix,
      concurrency: 1,
    });
    this.#worker.on('error', (error) => {
      logger.debug(
        { event: 'commandQueueFailed', reason: redisFailureReason(error) },
        'command queue failed, retrying',
      );
    });
  }

  /** Stops taking commands and waits for the current one, up to the limit in milliseconds. */
  async close(limit_ms: number): Promise<void> {
    await settleWithin([this.#worker.close()], limit_ms);
  }

  async #process(job: Job<unknown, unknown>): Promise<unknown> {
    return sealResult(this.redis.signature, this.instanceId, String(job.id), await this.#resultOf(job));
  }

  async #resultOf(job: Job<unknown, unknown>): Promise<CommandResult> {
    const commandId = String(job.id);
    const { isSigned, data } = openJobData(this.redis.signature, this.instanceId, commandId, job.data);
    if (!isSigned) return notSigned;
    if (data === null) return unreadable;
    const { handler, logger } = this;
    const { name, body, expiresAt_ms } = data;
    try {
      const result = await this.handled.once(commandId, async () => {
        const awaited_ms = expiresAt_ms - (await redisTime_ms(this.redis));
        return awaited_ms < 0 ? expired : handler({ commandId, name, body }, awaited_ms);
      });
      logger.info({ event: 'commandHandled', command: name, commandId, success: result.success }, 'command handled');
      return result;
    } catch (thrown) {
      const error = toConvoyError(thrown);
      logger.warn(
        { event: 'commandFailed', command: name, commandId, error: error.error, err: error.cause },
        'command failed',
      );
      if (error.retry === 'automatic' && job.attemptsMade + 1 < COMMAND_ATTEMPTS_MAX) throw error;
      return { success: false, error: error.error, errorDescription: error.errorDescription };
    }
  }
}

/** Maximum remembered commands; a fleet receives a handful in its life. */
const COMMANDS_MAX = 256;

/**
 * The commands that this process handled, with their results. A flushed queue or a job that ran twice may deliver a
 * command again: it gets the first result without further effect.
 */
export class HandledCommands {
  readonly #results = new Map<string, Promise<CommandResult>>();

  /** The command's remembered result, or the result of handling it now. Forgets a command whose handler throws. */
  once(commandId: string, handle: () => Promise<CommandResult>): Promise<CommandResult> {
    const known = this.#results.get(commandId);
    if (known !== undefined) return known;
    const result = handle();
    this.#results.set(commandId, result);
    result.catch(() => this.#results.delete(commandId));
    this.#forgetOldest();
    return result;
  }

  #forgetOldest(): void {
    if (this.#results.size <= COMMANDS_MAX) return;
    const oldest = this.#results.keys().next();
    if (oldest.done !== true) this.#results.delete(oldest.value);
  }
}
