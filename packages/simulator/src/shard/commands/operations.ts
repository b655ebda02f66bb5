import { Int32, Long } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { compileMatcher } from '../../query/matcher.js';
import { failure } from '../failure.js';
import type { CommandContext } from './command-context.js';

/** `killOp`: a command here is over before another can name it; the server, too, promises no more than to try. */
export function killOperation({ request }: CommandContext): Doc {
  const op = request.body.get('op');
  if (!(op instanceof Int32) && !(op instanceof Long) && typeof op !== 'string') throw failure.typeMismatch("BSON field 'killOp.op' is missing or of the wrong type");
  return new Map([['info', 'attempting to kill op']]);
}

/** Fields of `currentOp` that are no conditions on what it shows. */
const noCondition: ReadonlySet<string> = new Set(['currentOp', 'lsid', 'maxTimeMS', 'comment']);

/** `currentOp`: the operation that asks, and the transactions that are open; of them what meets the conditions. */
export function currentOperations(context: CommandContext): Doc {
  const { state, request } = context;
  const matches = compileMatcher(new Map([...request.body].filter(([name]) => !noCondition.has(name) && !name.startsWith('$'))));
  const idle = state.sessions.running.map((transaction) => new Map<string, Value>([['type', 'idleSession'], ['active', false], ['transaction', transaction.shown(state.now())]]));
  return new Map([['inprog', [runningOperation(context), ...idle].filter((operation) => matches(operation))]]);
}

/** The operation that asks, as `$currentOp` shows it. */
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
