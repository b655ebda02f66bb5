import { Worker } from 'bullmq';
import type { Job } from 'bullmq';
import type { Logger } from 'pino';
import { toConvoyError } from '@convoy/api/errors/convoy-error';
import type { CommandResult, FleetCommand } from '@convoy/api/fleet/fleet';
import type { RedisConnection } from '../redis/redis-connection.js';
import type { FleetKeys } from '../redis/keys.js';
import { callRedis, redisFailureReason } from '../redis/redis-failure.js';
import type { FleetSignature } from '../redis/signature.js';
import { redisTime_ms } from '../redis/redis-time.js';
import { settleWithin } from '../time/settle-within.js';
import { ATTEMPTS_MAX, openJobData, sealResult } from './command-job.js';
import type { CommandLedger } from './command-ledger.js';

export interface CommandWorkerDependencies {
  /** A connection that waits for Redis; the worker duplicates it for its blocking calls. */
  readonly connection: RedisConnection;
  readonly keys: FleetKeys;
  readonly signature: FleetSignature;
  readonly instanceId: string;
  readonly handler: (command: FleetCommand) => Promise<CommandResult>;
  readonly ledger: CommandLedger;
  readonly redisCall_ms: number;
  readonly logger: Logger;
}

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
  readonly #parts: CommandWorkerDependencies;
  readonly #worker: Worker<unknown, unknown>;

  constructor(parts: CommandWorkerDependencies) {
    this.#parts = parts;
    this.#worker = new Worker<unknown, unknown>(parts.keys.queueName(parts.instanceId), (job) => this.#process(job), {
      connection: parts.connection,
      prefix: parts.keys.queuePrefix,
      concurrency: 1,
    });
    this.#worker.on('error', (error) => {
      parts.logger.debug(
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
    const { signature, instanceId } = this.#parts;
    return sealResult(signature, instanceId, String(job.id), await this.#resultOf(job));
  }

  async #resultOf(job: Job<unknown, unknown>): Promise<CommandResult> {
    const commandId = String(job.id);
    const { isSigned, data } = openJobData(this.#parts.signature, this.#parts.instanceId, commandId, job.data);
    if (!isSigned) return notSigned;
    if (data === null) return unreadable;
    const { ledger, handler, connection, keys, redisCall_ms, logger } = this.#parts;
    const { name, body, expiresAt_ms } = data;
    try {
      const result = await ledger.once(commandId, async () => {
        if ((await callRedis(redisTime_ms(connection, keys), redisCall_ms)) > expiresAt_ms) return expired;
        return handler({ commandId, name, body });
      });
      logger.info({ event: 'commandHandled', command: name, commandId, success: result.success }, 'command handled');
      return result;
    } catch (thrown) {
      const error = toConvoyError(thrown);
      logger.warn(
        { event: 'commandFailed', command: name, commandId, error: error.error, err: error.cause },
        'command failed',
      );
      if (error.retry === 'automatic' && job.attemptsMade + 1 < ATTEMPTS_MAX) throw error;
      return { success: false, error: error.error, errorDescription: error.errorDescription };
    }
  }
}
