import { Binary, Int32 } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { SessionIdentity } from '../session/logical-session.js';
import { makeUuid } from '../storage/catalog.js';
import type { CommandContext } from './command-context.js';
import { addWriteConcernError } from './write-reply.js';

/** Minutes a session lives without use, the server's `localLogicalSessionTimeoutMinutes`. */
const SESSION_TIMEOUT_MINUTES = 30;

/** `startSession`: a new session id. */
export function startSession(): Doc {
  const id: Binary = makeUuid();
  return new Map<string, Value>([
    ['id', new Map([['id', id]])],
    ['timeoutMinutes', new Int32(SESSION_TIMEOUT_MINUTES)],
  ]);
}

/** `killSessions`, `endSessions` and their kin: end running transactions; what fences retryable writes stays. */
export function killSessions({ state, request }: CommandContext): Doc {
  const ids = request.body.get(request.name);
  const identities = Array.isArray(ids) ? ids.map((id) => SessionIdentity.read(id)).filter((identity) => identity !== undefined) : [];
  state.sessions.kill(identities.length === 0 && request.name.startsWith('kill') ? undefined : identities);
  return new Map();
}

/** `refreshSessions`: sessions here need no refreshing. */
export function refreshSessions(): Doc {
  return new Map();
}

/** `commitTransaction`: makes the transaction's writes visible; repeating it is harmless. */
export function commitTransaction(context: CommandContext): Doc {
  const { state, participation } = context;
  const session = participation.session;
  if (session === null) throw notInTransaction(context);
  if (session.outcome === 'aborted') throw aborted(session.txnNumber);
  state.sessions.commit(session);
  const reply: Doc = new Map();
  addWriteConcernError(reply, context);
  return reply;
}

/** `abortTransaction`: undoes the transaction's writes. */
export function abortTransaction(context: CommandContext): Doc {
  const { state, participation } = context;
  const session = participation.session;
  if (session === null) throw notInTransaction(context);
  if (session.outcome === 'aborted') throw aborted(session.txnNumber);
  if (session.outcome === 'committed') {
    throw new CommandError(256, 'TransactionCommitted', `Transaction with { txnNumber: ${session.txnNumber.toString()} } has been committed.`);
  }
  state.sessions.abort(session);
  return new Map();
}

function notInTransaction({ request }: CommandContext): CommandError {
  return new CommandError(125, 'CommandFailed', `${request.name} must be run within a transaction`);
}

function aborted(txnNumber: bigint): CommandError {
  return new CommandError(251, 'NoSuchTransaction', `Transaction with { txnNumber: ${txnNumber.toString()} } has been aborted.`, [
    'TransientTransactionError',
  ]);
}
