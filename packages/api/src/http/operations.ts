import { commandNames } from '../contract/commands.js';
import type { CommandName } from '../contract/commands.js';

/** Path of a command. */
export function commandPath(command: CommandName): `/api/v1/${CommandName}` {
  return `/api/v1/${command}`;
}

/** Path of the progress call. */
export const PROGRESS_PATH = '/api/v1/progress';
/** Path of the OpenAPI document. */
export const OPENAPI_PATH = '/api/v1/openapi.json';
/** Path that answers as long as the process does. */
export const HEALTH_PATH = '/healthz';
/** Path that answers 200 once the process can take commands. */
export const READY_PATH = '/readyz';

/** One operation of the contract as the OpenAPI document describes it. */
export interface Operation {
  readonly method: 'get' | 'post';
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  /** Name of the request body's schema in `contractJsonSchemas`. */
  readonly body?: 'StartRequest' | 'CommandBody';
  /** Name of the success body's schema. */
  readonly reply: 'SuccessReply' | 'ProgressReply' | 'OpenApiDocument';
  /** Statuses of its failures. */
  readonly failures: readonly number[];
}

const commandSummaries: Readonly<Record<CommandName, string>> = {
  start: 'Starts a migration; allowed in IDLE.',
  pause: 'Pauses the migration; allowed in RUNNING.',
  resume: 'Goes on with a paused migration; allowed in PAUSED.',
  commit: 'Ends the migration; allowed in RUNNING once canCommit is true.',
  reverse: 'Swaps source and destination of a reversible migration; allowed in COMMITTED.',
};

const accessFailures = [401, 403, 500];

/** Every operation of the contract, in the order of the OpenAPI document. */
export const operations: readonly Operation[] = [
  ...commandNames.map(
    (command): Operation => ({
      method: 'post',
      path: commandPath(command),
      operationId: command,
      summary: commandSummaries[command],
      body: command === 'start' ? 'StartRequest' : 'CommandBody',
      reply: 'SuccessReply',
      failures: [400, 409, 413, 422, 503, ...accessFailures],
    }),
  ),
  {
    method: 'get',
    path: PROGRESS_PATH,
    operationId: 'progress',
    summary: 'State and figures of the migration; the failure shape once it has failed.',
    reply: 'ProgressReply',
    failures: [409, 422, 503, ...accessFailures],
  },
  {
    method: 'get',
    path: OPENAPI_PATH,
    operationId: 'openapi',
    summary: 'This document.',
    reply: 'OpenApiDocument',
    failures: accessFailures,
  },
  {
    method: 'get',
    path: HEALTH_PATH,
    operationId: 'healthz',
    summary: 'Whether the process answers.',
    reply: 'SuccessReply',
    failures: [],
  },
  {
    method: 'get',
    path: READY_PATH,
    operationId: 'readyz',
    summary: 'Whether the process can take commands.',
    reply: 'SuccessReply',
    failures: [503],
  },
];
