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
/** Path of what both clusters have besides data. */
export const INVENTORY_PATH = '/api/v1/inventory';
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
    | 'InventoryReply'
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
const startFailures = [400, 409, 413, 422, 503];

/** An operation, at `/api/v1/` and its id unless it says otherwise. `failures` are those besides `accessFailures`. */
function operation(
  operationId: string,
  reply: Operation['reply'],
  failures: readonly number[],
  summary: string,
  more: Partial<Operation> = {},
): Operation {
  return {
    method: 'get',
    path: `/api/v1/${operationId}`,
    operationId,
    summary,
    reply,
    failures: [...failures, ...accessFailures],
    ...more,
  };
}

/** Every operation of instances and coordinators, in the order of the OpenAPI document. */
const operations: readonly Operation[] = [
  ...commandNames.map((command) =>
    operation(command, 'SuccessReply', startFailures, commandSummaries[command], {
      method: 'post',
      body: command === 'start' ? 'StartRequest' : 'CommandBody',
    }),
  ),
  operation(
    'progress',
    'ProgressReply',
    [409, 422, 503],
    'State and progress of the migration. A failure once the migration has failed.',
  ),
  ...[
    operation('instances', 'InstancesReply', [], 'One row per known or expected instance, whatever its state.'),
    operation(
      'events',
      'Text',
      [503],
      "Server-sent events named progress, each with the fleet's whole progress. Ids increase, so clients may " +
        'send Last-Event-ID.',
      { mediaType: 'text/event-stream' },
    ),
    operation(
      'watch',
      'Text',
      [503],
      'Server-sent events for the dashboard: one fleet event with everything, then a change event per second.',
      { mediaType: 'text/event-stream' },
    ),
    operation('history', 'HistoryReply', [503], 'History of the migration: at most 720 points and a timeline.'),
    operation(
      'namespaces',
      'NamespacesReply',
      [503],
      'Copy progress per collection, active and large ones first. Takes offset, limit (at most 200), search, sort.',
    ),
    operation('preflight', 'PreflightReply', [503], 'Results of the last preflight checks, by instance.'),
    operation(
      'commands',
      'CommandsReply',
      [],
      "The last commands sent through this process, with each instance's reply.",
    ),
    operation('access', 'AccessReply', [], "Whether the request's token may send commands."),
    operation(
      'logs',
      'LogsReply',
      [503],
      'The last warnings and errors in the logs of all processes, oldest first. Takes limit (at most 1000).',
    ),
    operation(
      'report',
      'ReportReply',
      [503],
      'The migration from its start to now: verdict, times, rates, collections, timeline.',
    ),
    operation(
      'source',
      'SourceReply',
      [400, 409, 422, 503],
      "The source's collections with estimated sizes, before a start. The leader lists them, once a minute.",
      {
        parameters: [
          { name: 'source', type: 'string', description: 'Name of the source cluster; cluster0 by default.' },
          { name: 'destination', type: 'string', description: 'Name of the destination cluster; cluster1 by default.' },
        ],
      },
    ),
    operation(
      'check',
      'CheckReply',
      startFailures,
      'Preflight checks for the options of a start, without a start. Allowed in IDLE.',
      { method: 'post', body: 'StartRequest' },
    ),
    operation('reportPage', 'Text', [503], 'The same report as one HTML file, which loads nothing.', {
      path: REPORT_PAGE_PATH,
      mediaType: 'text/html',
    }),
  ].map((one): Operation => ({ ...one, scope: 'fleet' })),
  operation(
    'metrics',
    'Text',
    [],
    'Prometheus metrics, listed in docs/reference/metrics.md. OpenMetrics for clients that accept it.',
    { path: METRICS_PATH, mediaType: 'text/plain' },
  ),
  operation(
    'mismatches',
    'Mismatch',
    [400, 503],
    "The embedded verifier's mismatches, one JSON object per line. Available after a failure too.",
    {
      path: MISMATCHES_PATH,
      parameters: [
        { name: 'kind', type: 'string', description: 'Only mismatches of this kind.' },
        { name: 'namespace', type: 'string', description: 'Only mismatches of this database.collection.' },
        { name: 'limit', type: 'integer', description: 'Maximum number of lines; 10000 by default.' },
      ],
      mediaType: LINES_TYPE,
    },
  ),
  operation(
    'inventory',
    'InventoryReply',
    [400, 409, 422, 503],
    'What both clusters have besides data, indexes, options and shard keys, and what Convoy does about it.',
    {
      parameters: [
        { name: 'source', type: 'string', description: 'Before a start: name of the source; cluster0 by default.' },
        { name: 'destination', type: 'string', description: 'Name of the destination; cluster1 by default.' },
        { name: 'carry', type: 'string', description: 'Kinds that a start would carry, separated by commas.' },
      ],
    },
  ),
  operation('openapi', 'OpenApiDocument', [], 'This document.', { path: OPENAPI_PATH }),
  operation('healthz', 'SuccessReply', [], 'Whether the process is alive.', { path: HEALTH_PATH, failures: [] }),
  operation('readyz', 'SuccessReply', [], 'Whether the process accepts commands.', {
    path: READY_PATH,
    failures: [503],
  }),
];

/** The operations that instances, or coordinators, serve. */
export function operationsOf(scope: ProgressScope): readonly Operation[] {
  return operations.filter((operation) => operation.scope === undefined || operation.scope === scope);
}
