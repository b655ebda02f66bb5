import { Int32, Long } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { compileMatcher } from '../../query/matcher.js';
import { failure } from '../failure.js';
import type { CommandContext } from './command-context.js';

/** Fields of `currentOp` that are no conditions (server source: `CurrentOpCommandBase`). */
const noCondition: ReadonlySet<string> = new Set([
  'currentOp',
  'lsid',
  'maxTimeMS',
  'comment',
  '$all',
  '$ownOps',
  '$truncateOps',
  '$db',
  '$clusterTime',
  '$readPreference',
]);
/** Options of `$currentOp`. All are flags. */
const stageOptions: ReadonlySet<string> = new Set([
  'idleConnections',
  'idleSessions',
  'allUsers',
  'localOps',
  'truncateOps',
  'idleCursors',
  'backtrace',
]);

/** `currentOp`: the asking operation and the open transactions, filtered by the conditions. */
export function currentOperations(context: CommandContext): Doc {
  const matches = compileMatcher(new Map([...context.request.body].filter(([name]) => !noCondition.has(name))));
  return new Map([['inprog', operations(context).filter((operation) => matches(operation))]]);
}

/**
 * The documents of a leading `$currentOp`. Undefined for any other stage. For a router each names its shard.
 * @throws CommandError 73 outside of the database admin, 9 for an unknown option, 14 for one that is no flag
 */
export function currentOpStage(context: CommandContext, stage: Doc | undefined): Doc[] | undefined {
  const options = stage?.get('$currentOp');
  if (options === undefined) return undefined;
  const { request, state } = context;
  if (!(options instanceof Map)) throw failure.failedToParse('$currentOp options must be specified in an object');
  if (request.db !== 'admin' || typeof request.body.get('aggregate') === 'string') {
    throw failure.invalidNamespace("$currentOp must be run against the 'admin' database with {aggregate: 1}");
  }
  for (const [name, value] of options) {
    if (!stageOptions.has(name)) throw failure.failedToParse(`Unrecognized option '${name}' in $currentOp stage.`);
    if (typeof value !== 'boolean')
      throw failure.failedToParse(`The '${name}' parameter of the $currentOp stage must be a boolean value`);
  }
  const shown = operations(context, options.get('idleSessions') !== false);
  return request.routed === undefined
    ? shown
    : shown.map((operation) => new Map<string, Value>([['shard', state.options.name], ...operation]));
}

function operations(context: CommandContext, withIdleSessions = true): Doc[] {
  const { state } = context;
  const transactions = withIdleSessions ? state.sessions.running : [];
  const idle = transactions.map(
    (each) =>
      new Map<string, Value>([
        ['type', 'idleSession'],
        ['host', state.diagnosticHost],
        ['desc', 'inactive transaction'],
        ...each.shown(state.now()),
        ['waitingForLock', false],
        ['active', false],
      ]),
  );
  const isNewer = state.version.atLeast(6, 0);
  const builds = state.builds.shown(state.diagnosticHost, new Date(state.now()).toISOString(), isNewer);
  const led = state.version.atLeast(8, 0) ? state.led.shown : [];
  return [runningOperation(context), ...idle, ...state.coordinators.shown, ...movesOf(state), ...led, ...builds];
}

/** Moves of chunks that this shard gives away. Releases before 8.0 were not seen to. */
function movesOf({ version, moves, options, diagnosticHost, now }: CommandContext['state']): Doc[] {
  if (!version.atLeast(8, 0)) return [];
  return moves.shown({ name: options.name, host: diagnosticHost, time: new Date(now()).toISOString() });
}

/** The asking operation, as `$currentOp` shows it. */
function runningOperation({ state, request }: CommandContext): Doc {
  const shown = new Map([...request.body].filter(([name]) => name !== 'lsid' && !name.startsWith('$')));
  return new Map<string, Value>([
    ['type', 'op'],
    ['host', state.diagnosticHost],
    ['desc', `conn${request.connection.id}`],
    ['connectionId', new Int32(request.connection.id)],
    ['active', true],
    ['currentOpTime', new Date(state.now()).toISOString()],
    ['opid', new Int32(1)],
    ['secs_running', Long.fromInt(0)],
    ['op', 'command'],
    ['ns', `${request.db}.$cmd.aggregate`],
    ['command', shown.set('$db', request.db)],
  ]);
}
