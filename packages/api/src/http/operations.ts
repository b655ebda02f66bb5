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
/** Path of the embedded verifier's mismatches. */
export const MISMATCHES_PATH = '/api/v1/verification/mismatches';
/** Path of the OpenAPI document. */
export const OPENAPI_PATH = '/api/v1/openapi.json';
/** Path that replies while the process is alive. */
export const HEALTH_PATH = '/healthz';
/** Path that replies 200 once the process accepts commands. */
export const READY_PATH = '/readyz';

/** Media type of one JSON value per line. */
export const LINES_TYPE = 'application/x-ndjson';

/** Path of the list of instances, on a coordinator. */
export const INSTANCES_PATH = '/api/v1/instances';
/** Path of the stream of global progress, on a coordinator. */
export const EVENTS_PATH = '/api/v1/events';
/** Path of the report as JSON, on a coordinator. */
export const REPORT_PATH = '/api/v1/report';
/** Path of the last warnings and errors of all processes, on a coordinator. */
export const LOGS_PATH = '/api/v1/logs';
/** Path of the progress per collection, which only coordinators serve. */
export const NAMESPACES_PATH = '/api/v1/namespaces';
/** Path of the report as one HTML file, on a coordinator. */
export const REPORT_PAGE_PATH = '/api/v1/report.html';

/** Path of the source's collections before a start, on a coordinator. */
export const SOURCE_PATH = '/api/v1/source';
/** Path of the preflight checks for given options, on a coordinator. */
export const CHECK_PATH = '/api/v1/check';

/** One operation of the API, for the OpenAPI document. */
export interface Operation {
  /** Which processes serve it; all when left out. */
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
    | 'ReportReply'
    | 'SourceReply'
    | 'CheckReply'
    | 'LogsReply'
    | 'OpenApiDocument'
    | 'Text';
  /** Media type of the success body, unless it is JSON. */
  readonly mediaType?: string;
  /** Its query parameters; all are optional. */
  readonly parameters?: readonly {
    readonly name: string;
    readonly type: 'string' | 'integer';
    readonly description: string;
  }[];
  /** Statuses of its failures. */
  readonly failures: readonly number[];
}

const commandSummaries: Readonly<Record<CommandName, string>> = {
  start: 'Starts a migration. Allowed in IDLE.',
  pause: 'Pauses the migration. Allowed in RUNNING.',
  resume: 'Resumes the migration. Allowed in PAUSED.',
  commit: 'Commits the migration. Allowed in RUNNING once canCommit is true.',
  reverse: 'Swaps source and destination of a reversible migration. Allowed in COMMITTED.',
};

const accessFailures = [401, 403, 500];

/** The last part of the path, which is also the name, and what differs. */
type WatchingRow = [
  name: string,
  reply: Operation['reply'],
  summary: string,
  failures: readonly number[],
  parameters?: Operation['parameters'],
];

/** Operations that the dashboard uses. */
const watchingRows: readonly WatchingRow[] = [
  ['history', 'HistoryReply', 'History of the migration: at most 720 points and a timeline.', [503]],
  [
    'namespaces',
    'NamespacesReply',
    'Copy progress per collection, active and large ones first. Takes offset, limit (at most 200), search, sort.',
    [503],
  ],
  ['preflight', 'PreflightReply', 'Results of the last preflight checks, by instance.', [503]],
  ['commands', 'CommandsReply', "The last commands sent through this process, with each instance's reply.", []],
  ['access', 'AccessReply', "Whether the request's token may send commands.", []],
  [
    'logs',
    'LogsReply',
    'The last warnings and errors in the logs of all processes, oldest first. Takes limit (at most 1000).',
    [503],
  ],
  [
    'report',
    'ReportReply',
    'The migration from its start to now: verdict, times, rates, collections, timeline.',
    [503],
  ],
  [
    'source',
    'SourceReply',
    "The source's collections with estimated sizes, before a start. The leader lists them, once a minute.",
    [400, 409, 422, 503],
    [
      { name: 'source', type: 'string', description: 'Name of the source cluster; cluster0 by default.' },
      { name: 'destination', type: 'string', description: 'Name of the destination cluster; cluster1 by default.' },
    ],
  ],
];

const watchingOperations = watchingRows.map(([name, reply, summary, failures, parameters]): Operation => ({
  scope: 'fleet',
  method: 'get',
  path: `/api/v1/${name}`,
  operationId: name,
  summary,
  reply,
  ...(parameters && { parameters }),
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
    summary: 'State and progress of the migration. A failure once the migration has failed.',
    reply: 'ProgressReply',
    failures: [409, 422, 503, ...accessFailures],
  },
  {
    scope: 'fleet',
    method: 'get',
    path: INSTANCES_PATH,
    operationId: 'instances',
    summary: 'One row per known or expected instance, whatever its state.',
    reply: 'InstancesReply',
    failures: accessFailures,
  },
  {
    scope: 'fleet',
    method: 'get',
    path: EVENTS_PATH,
    operationId: 'events',
    summary:
      "Server-sent events named progress, each with the fleet's whole progress. Ids increase, so clients may " +
      'send Last-Event-ID.',
    reply: 'Text',
    mediaType: 'text/event-stream',
    failures: [503, ...accessFailures],
  },
  {
    scope: 'fleet',
    method: 'get',
    path: '/api/v1/watch',
    operationId: 'watch',
    summary: 'Server-sent events for the dashboard: one fleet event with everything, then a change event per second.',
    reply: 'Text',
    mediaType: 'text/event-stream',
    failures: [503, ...accessFailures],
  },
  ...watchingOperations,
  {
    scope: 'fleet',
    method: 'post',
    path: CHECK_PATH,
    operationId: 'check',
    summary: 'Preflight checks for the options of a start, without a start. Allowed in IDLE.',
    body: 'StartRequest',
    reply: 'CheckReply',
    failures: [400, 409, 413, 422, 503, ...accessFailures],
  },
  {
    scope: 'fleet',
    method: 'get',
    path: REPORT_PAGE_PATH,
    operationId: 'reportPage',
    summary: 'The same report as one HTML file, which loads nothing.',
    reply: 'Text',
    mediaType: 'text/html',
    failures: [503, ...accessFailures],
  },
  {
    method: 'get',
    path: METRICS_PATH,
    operationId: 'metrics',
    summary: 'Prometheus metrics, listed in docs/metrics.md. OpenMetrics for clients that accept it.',
    reply: 'Text',
    mediaType: 'text/plain',
    failures: accessFailures,
  },
  {
    method: 'get',
    path: MISMATCHES_PATH,
    operationId: 'mismatches',
    summary: "The embedded verifier's mismatches, one JSON object per line. Available after a failure too.",
    parameters: [
      { name: 'kind', type: 'string', description: 'Only mismatches of this kind.' },
      { name: 'namespace', type: 'string', description: 'Only mismatches of this database.collection.' },
      { name: 'limit', type: 'integer', description: 'Maximum number of lines; 10000 by default.' },
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
    summary: 'Whether the process is alive.',
    reply: 'SuccessReply',
    failures: [],
  },
  {
    method: 'get',
    path: READY_PATH,
    operationId: 'readyz',
    summary: 'Whether the process accepts commands.',
    reply: 'SuccessReply',
    failures: [503],
  },
];

/** The operations that instances, or coordinators, serve. */
export function operationsOf(scope: ProgressScope): readonly Operation[] {
  return operations.filter((operation) => operation.scope === undefined || operation.scope === scope);
}
