import { z } from 'zod';
import { ConvoyError } from '../errors/convoy-error.js';
import { type FleetProgress, fleetProgressSchema } from '../contract/fleet-progress.js';
import type { CommandName } from '../contract/commands.js';
import { type Inventory, inventoryReplySchema } from '../contract/inventory.js';
import { progressSchema } from '../contract/progress.js';
import { failureReplySchema, type ProgressReply, type SuccessReply, successReplySchema } from '../contract/reply.js';
import type { StartRequestBody } from '../contract/start-request.js';
import {
  commandPath,
  INVENTORY_PATH,
  LOGS_PATH,
  NAMESPACES_PATH,
  PROGRESS_PATH,
  REPORT_PATH,
} from '../http/operations.js';
import { type FleetLogRecord, logsReplySchema } from '../contract/log-record.js';
import { type MigrationReport, reportReplySchema } from '../contract/migration-report.js';
import { namespacesReplySchema } from '../contract/watching.js';
import { type ClientTrust, exchangeJson } from './exchange-json.js';
import { isErrorName } from '../errors/table.js';

/** Schema of a progress reply with the given kind of report. */
function progressReplySchema<Report>(report: z.ZodType<Report>): z.ZodType<{ success: true; progress: Report }> {
  return z.object({ success: z.literal(true), progress: report });
}

/**
 * The error of a failure body; undefined when the body is not a failure.
 * A name that the table lacks (another release's) becomes `unexpectedReply` with the name in its description.
 */
function failureOf(body: unknown): ConvoyError | undefined {
  const result = failureReplySchema.safeParse(body);
  if (!result.success) return undefined;
  const { error, errorDescription, instances } = result.data;
  if (isErrorName(error)) return new ConvoyError(error, errorDescription, { instances });
  return new ConvoyError('unexpectedReply', `${error}: ${errorDescription}`, { instances });
}

/** Parses the body and drops fields of later releases; undefined when the schema does not match. */
function readReply<Reply>(body: unknown, schema: z.ZodType<Reply>): Reply | undefined {
  const result = schema.safeParse(body);
  return result.success ? result.data : undefined;
}

/**
 * Default time limit of one call. Commands reply within seconds, once recorded. A coordinator waits 30 s for its
 * instances before it names the missing ones, so the limit must be longer.
 */
const TIMEOUT_MS_DEFAULT = 45_000;

/** Options of a client. */
export interface ContractClientOptions {
  /** Bearer token, sent with every call. */
  readonly token?: string;
  /** For `https:` addresses. */
  readonly trust?: ClientTrust;
  /** Time limit of one call in milliseconds; 45 seconds when left out. */
  readonly timeout_ms?: number;
}

/** Options of one call. */
export interface CallOptions {
  /** Aborts the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** One page of the progress per collection. */
export type NamespacesPage = z.infer<typeof namespacesReplySchema>;

/**
 * Client of an instance's or a coordinator's API.
 * Every method resolves with the reply's body. It rejects with the ConvoyError that the failure body names, or with
 * `requestTimedOut`, `instanceUnreachable`, `tlsFailed` or `unexpectedReply`. The client never retries.
 */
export class ContractClient {
  readonly #baseUrl: string;
  readonly #token: string | undefined;
  readonly #trust: ClientTrust;
  readonly #timeout_ms: number;

  /** @param baseUrl scheme, host and port, for example `http://127.0.0.1:27182` */
  constructor(baseUrl: string, options: ContractClientOptions = {}) {
    this.#baseUrl = baseUrl.replace(/\/+$/, '');
    this.#token = options.token;
    this.#trust = options.trust ?? {};
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

  /** Resumes a paused migration. */
  resume(call?: CallOptions): Promise<SuccessReply> {
    return this.#command('resume', {}, call);
  }

  /** Commits the migration. */
  commit(call?: CallOptions): Promise<SuccessReply> {
    return this.#command('commit', {}, call);
  }

  /** Reverses a committed migration. */
  reverse(call?: CallOptions): Promise<SuccessReply> {
    return this.#command('reverse', {}, call);
  }

  /** Progress of an instance, or the contract's fields of a fleet's progress. */
  progress(call?: CallOptions): Promise<ProgressReply> {
    return this.#call('GET', PROGRESS_PATH, undefined, progressReplySchema(progressSchema), call);
  }

  /** Progress of a fleet; only coordinators serve it. */
  fleetProgress(call?: CallOptions): Promise<ProgressReply<FleetProgress>> {
    return this.#call('GET', PROGRESS_PATH, undefined, progressReplySchema(fleetProgressSchema), call);
  }

  /** The report of the migration; only coordinators serve it. */
  async report(call?: CallOptions): Promise<MigrationReport> {
    return (await this.#call('GET', REPORT_PATH, undefined, reportReplySchema, call)).report;
  }

  /**
   * What both clusters have besides data, and what Convoy does about it.
   * @param query `source`, `destination` and `carry`, which count before a start
   */
  async inventory(query: Readonly<Record<string, string>> = {}, call?: CallOptions): Promise<Inventory> {
    const path = `${INVENTORY_PATH}?${new URLSearchParams(query).toString()}`;
    return (await this.#call('GET', path, undefined, inventoryReplySchema, call)).inventory;
  }

  /** The last warnings and errors of all processes, oldest first; only coordinators serve them. */
  async logs(call?: CallOptions): Promise<FleetLogRecord[]> {
    return (await this.#call('GET', LOGS_PATH, undefined, logsReplySchema, call)).logs;
  }

  /** Collections of the migration, at most 200; only coordinators serve them. */
  namespaces(query: Readonly<Record<string, string>>, call?: CallOptions): Promise<NamespacesPage> {
    const path = `${NAMESPACES_PATH}?${new URLSearchParams(query).toString()}`;
    return this.#call('GET', path, undefined, namespacesReplySchema, call);
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
      trust: this.#trust,
      timeout_ms: this.#timeout_ms,
      signal: call.signal,
    });
    const failure = failureOf(reply);
    if (failure !== undefined) throw failure;
    const value = readReply(reply, schema);
    if (value === undefined)
      throw new ConvoyError('unexpectedReply', `The reply of ${path} does not have the contract's shape.`);
    return value;
  }
}
