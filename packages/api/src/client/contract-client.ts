import { ConvoyError } from '../errors/convoy-error.js';
import { fleetProgressSchema } from '../contract/fleet-progress.js';
import type { FleetProgress } from '../contract/fleet-progress.js';
import type { CommandName } from '../contract/commands.js';
import { progressSchema } from '../contract/progress.js';
import { successReplySchema } from '../contract/reply.js';
import type { ProgressReply, SuccessReply } from '../contract/reply.js';
import type { StartRequestBody } from '../contract/start-request.js';
import { PROGRESS_PATH, commandPath } from '../http/operations.js';
import { exchangeJson } from './exchange-json.js';
import { failureOf, progressReplySchema, readReply } from './read-reply.js';

/**
 * Time limit of one call when none is configured: a command is answered once it is recorded, within seconds. A coordinator
 * waits 30 s for its instances, and then says who has not answered: that is worth waiting for.
 */
const TIMEOUT_MS_DEFAULT = 45_000;

/** Settings of a client. */
export interface ContractClientOptions {
  /** Bearer token, sent with every call. */
  readonly token?: string;
  /** Time limit of one call in milliseconds; 45 seconds when left out. */
  readonly timeout_ms?: number;
}

/** Settings of one call. */
export interface CallOptions {
  /** Ends the call when aborted; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * Calls the contract of an instance or of a coordinator process.
 * Every method resolves with the reply's body, or rejects with the ConvoyError that the failure body names, with
 * `requestTimedOut`, `instanceUnreachable` or `unexpectedReply`. Nothing is repeated by itself.
 */
export class ContractClient {
  readonly #baseUrl: string;
  readonly #token: string | undefined;
  readonly #timeout_ms: number;

  /** @param baseUrl scheme, host and port, for example `http://127.0.0.1:27182` */
  constructor(baseUrl: string, options: ContractClientOptions = {}) {
    this.#baseUrl = baseUrl.replace(/\/+$/, '');
    this.#token = options.token;
    this.#timeout_ms = options.timeout_ms ?? TIMEOUT_MS_DEFAULT;
  }

  /** Starts a migration. */
  start(request: StartRequestBody, call?: CallOptions): Promise<SuccessReply> {
    return this.#command('start', request, call);
  }

  /** Pauses the migration. */
  pause(call?: CallOptions): Promise<SuccessReply> {
    return this.#command('pause', {}, call);
  }

  /** Goes on with a paused migration. */
  resume(call?: CallOptions): Promise<SuccessReply> {
    return this.#command('resume', {}, call);
  }

  /** Ends the migration. */
  commit(call?: CallOptions): Promise<SuccessReply> {
    return this.#command('commit', {}, call);
  }

  /** Reverses a committed migration. */
  reverse(call?: CallOptions): Promise<SuccessReply> {
    return this.#command('reverse', {}, call);
  }

  /** Progress of an instance, or the contract's part of a fleet's. */
  progress(call?: CallOptions): Promise<ProgressReply> {
    return this.#call('GET', PROGRESS_PATH, undefined, progressReplySchema(progressSchema), call);
  }

  /** Progress of a fleet, from a coordinator process. */
  fleetProgress(call?: CallOptions): Promise<ProgressReply<FleetProgress>> {
    return this.#call('GET', PROGRESS_PATH, undefined, progressReplySchema(fleetProgressSchema), call);
  }

  #command(command: CommandName, body: unknown, call: CallOptions | undefined): Promise<SuccessReply> {
    return this.#call('POST', commandPath(command), body, successReplySchema, call);
  }

  async #call<Reply>(
    method: 'GET' | 'POST',
    path: string,
    body: unknown,
    schema: Parameters<typeof readReply<Reply>>[1],
    call: CallOptions = {},
  ): Promise<Reply> {
    const reply = await exchangeJson({
      method,
      url: this.#baseUrl + path,
      body,
      token: this.#token,
      timeout_ms: this.#timeout_ms,
      signal: call.signal,
    });
    const failure = failureOf(reply);
    if (failure !== undefined) throw failure;
    const value = readReply(reply, schema);
    if (value === undefined)
      throw new ConvoyError('unexpectedReply', `The reply of ${path} has another shape than the contract's.`);
    return value;
  }
}
