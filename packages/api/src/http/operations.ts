import { commandNames } from '../contract/commands.js';
import type { CommandName } from '../contract/commands.js';
import type { ProgressScope } from './json-schema.js';
import { METRICS_PATH } from './metrics-reply.js';

/** Path of a command. */
export function commandPath(command: CommandName): `/api/v1/${CommandName}` {
  return `/api/v1/${command}`;
}

/** Path of the progress call. */
export const PROGRESS_PATH = '/api/v1/progress';
/** Path of what the embedded verifier has found. */
export const MISMATCHES_PATH = '/api/v1/verification/mismatches';
/** Path of the OpenAPI document. */
export const OPENAPI_PATH = '/api/v1/openapi.json';
/** Path that answers as long as the process does. */
export const HEALTH_PATH = '/healthz';
/** Path that answers 200 once the process can take commands. */
export const READY_PATH = '/readyz';

/** Media type of one JSON value a line. */
export const LINES_TYPE = 'application/x-ndjson';

/** Path of the rows per instance, on a coordinator. */
export const INSTANCES_PATH = '/api/v1/instances';
/** Path of the stream of global progress, on a coordinator. */
export const EVENTS_PATH = '/api/v1/events';

/** One operation of the API as the OpenAPI document describes it. */
export interface Operation {
  /** Who serves it; both when left out. */
  readonly scope?: ProgressScope;
  readonly method: 'get' | 'post';
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  /** Name of the request body's schema in `contractJsonSchemas`. */
  readonly body?: 'StartRequest' | 'CommandBody';
  /** Name of the success body's schema. */
  readonly reply:
    | 'SuccessReply'
    | 'ProgressReply'
    | 'InstancesReply'
    | 'Mismatch'
    | 'HistoryReply'
    | 'NamespacesReply'
    | 'PreflightReply'
    | 'CommandsReply'
    | 'AccessReply'
    | 'OpenApiDocument'
    | 'Text';
  /** Media type of the success body, where it is not JSON. */
  readonly mediaType?: string;
  /** Its query parameters; all may be left out. */
  readonly parameters?: readonly {
    readonly name: string;
    readonly type: 'string' | 'integer';
    readonly description: string;
  }[];
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

/** What the dashboard reads. */
const watchingOperations: readonly Operation[] = (
  [
    [
      'history',
      'HistoryReply',
      'The course of the migration: its figures at 720 moments at most, and what has happened.',
      [503],
    ],
    [
      'namespaces',
      'NamespacesReply',
      'What is copied of each collection, active and large ones first; takes offset, limit (200 at most) and search.',
      [503],
    ],
    ['preflight', 'PreflightReply', 'What the last checks before a start have found, by instance.', [503]],
    [
      'commands',
      'CommandsReply',
      'The last commands that were sent through this process, with the answer of each instance.',
      [],
    ],
    ['access', 'AccessReply', 'Whether the token of the request may command.', []],
  ] as const
).map(([name, reply, summary, failures]) => ({
  scope: 'fleet',
  method: 'get',
  path: `/api/v1/${name}`,
  operationId: name,
  summary,
  reply,
  failures: [...failures, ...accessFailures],
}));

/** Every operation of instances and coordinators, in the order of the OpenAPI document. */
const operations: readonly Operation[] = [
  ...commandNames.map((command): Operation => ({
    method: 'post',
    path: commandPath(command),
    operationId: command,
    summary: commandSummaries[command],
    body: command === 'start' ? 'StartRequest' : 'CommandBody',
    reply: 'SuccessReply',
    failures: [400, 409, 413, 422, 503, ...accessFailures],
  })),
  {
    method: 'get',
    path: PROGRESS_PATH,
    operationId: 'progress',
    summary: 'State and figures of the migration; the failure shape once it has failed.',
    reply: 'ProgressReply',
    failures: [409, 422, 503, ...accessFailures],
  },
  {
    scope: 'fleet',
    method: 'get',
    path: INSTANCES_PATH,
    operationId: 'instances',
    summary: 'One row for every instance that is known or asked for, whatever the state.',
    reply: 'InstancesReply',
    failures: accessFailures,
  },
  {
    scope: 'fleet',
    method: 'get',
    path: EVENTS_PATH,
    operationId: 'events',
    summary:
      'Server-sent events named progress, each with the whole progress of the fleet; ids grow, so that Last-Event-ID may be sent.',
    reply: 'Text',
    mediaType: 'text/event-stream',
    failures: [503, ...accessFailures],
  },
  {
    scope: 'fleet',
    method: 'get',
    path: '/api/v1/watch',
    operationId: 'watch',
    summary: 'Server-sent events for the dashboard: the whole as fleet, then once a second what has changed as change.',
    reply: 'Text',
    mediaType: 'text/event-stream',
    failures: [503, ...accessFailures],
  },
  ...watchingOperations,
  {
    method: 'get',
    path: METRICS_PATH,
    operationId: 'metrics',
    summary: 'Figures for Prometheus, listed in docs/metrics.md; as OpenMetrics for those who accept it.',
    reply: 'Text',
    mediaType: 'text/plain',
    failures: accessFailures,
  },
  {
    method: 'get',
    path: MISMATCHES_PATH,
    operationId: 'mismatches',
    summary:
      'What the embedded verifier has found to differ, one JSON object a line; also once the migration has failed.',
    parameters: [
      { name: 'kind', type: 'string', description: 'Only differences of this kind.' },
      { name: 'namespace', type: 'string', description: 'Only those of this database.collection.' },
      { name: 'limit', type: 'integer', description: 'So many at most; 10000 when left out.' },
    ],
    reply: 'Mismatch',
    mediaType: LINES_TYPE,
    failures: [400, 503, ...accessFailures],
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

/** What instances, or coordinators, serve. */
export function operationsOf(scope: ProgressScope): readonly Operation[] {
  return operations.filter((operation) => operation.scope === undefined || operation.scope === scope);
}
