import { Binary, Int32, Timestamp } from 'bson';
import { makeUuid } from '../../bson/uuid.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { failure } from '../failure.js';
import { SessionIdentity } from '../session/session-identity.js';
import { endedTransaction } from '../session/sessions.js';
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

/** `killSessions`, `endSessions` and similar: end running transactions and cursors. Fences of retryable writes stay. */
export function killSessions({ state, request }: CommandContext): Doc {
  const ids = request.body.get(request.name);
  const identities = Array.isArray(ids)
    ? ids.map((id) => SessionIdentity.read(id)).filter((identity) => identity !== undefined)
    : [];
  const named = identities.length === 0 && request.name.startsWith('kill') ? undefined : identities;
  state.sessions.kill(named);
  state.cursors.killBySession(named === undefined ? undefined : new Set(named.map(String)));
  return new Map();
}

/** `refreshSessions`: sessions here need no refresh. */
export function refreshSessions(): Doc {
  return new Map();
}

/** `commitTransaction`: makes the transaction's writes visible. Repeating it is harmless. */
export async function commitTransaction(context: CommandContext): Promise<Doc> {
  const { state, participation } = context;
  const session = participation.session;
  if (session === null) throw notInTransaction(context);
  if (session.outcome === 'running') await throughCommitPoint(context);
  if (session.outcome === 'aborted') throw endedTransaction(session, session.txnNumber, state.version);
  refuseTakenNames(context);
  const commitTime = context.request.body.get('commitTimestamp');
  state.sessions.commit(session, commitTime instanceof Timestamp ? commitTime : undefined);
  const reply: Doc = new Map();
  addWriteConcernError(reply, context);
  return reply;
}

/**
 * A collection that the transaction has created may exist by now: whoever commits first keeps the name (seen on 5.0.7).
 * @throws CommandError 112, or 48 for a view
 */
function refuseTakenNames({ state, participation: { session, transaction } }: CommandContext): void {
  if (session === null || transaction === null) return;
  const names = [...transaction.created.keys()];
  const catalog = state.catalog.outside();
  const view = names.find((namespace) => catalog.view(namespace) !== undefined);
  if (view === undefined && names.every((namespace) => catalog.collection(namespace) === undefined)) return;
  state.sessions.abort(session);
  throw view === undefined ? failure.writeConflict() : failure.namespaceExists(`View already exists. NS: ${view}`);
}

async function throughCommitPoint({ state, request }: CommandContext): Promise<void> {
  if (state.commitPoint?.active !== true) return;
  const { count, next } = state.interruption;
  await state.commitPoint.held(AbortSignal.any([next, request.signal]));
  state.interruption.refuseSince(count);
  if (request.signal.aborted)
    throw new CommandError(279, 'ClientDisconnect', 'operation was interrupted because a client disconnected');
}

/** `prepareTransaction`: the first phase of a commit over several shards. From then on only the router decides. */
export function prepareTransaction(context: CommandContext): Doc {
  const { state, participation } = context;
  const { session, transaction } = participation;
  if (session === null) throw notInTransaction(context);
  if (transaction === null) throw endedTransaction(session, session.txnNumber, state.version);
  return new Map([['prepareTimestamp', state.sessions.prepare(transaction)]]);
}

/**
 * `coordinateCommitTransaction` from a router that does not know the transaction: returns its outcome here, and aborts
 * it if it still runs.
 */
export function recoverCommitDecision(context: CommandContext): Doc {
  const { state, participation } = context;
  const { session } = participation;
  if (session === null) throw notInTransaction(context);
  if (state.coordinators.has(session.identity, session.txnNumber)) return new Map();
  if (session.running?.prepareTime === undefined) state.sessions.abort(session);
  if (session.outcome !== 'committed') throw endedTransaction(session, session.txnNumber, state.version);
  return new Map();
}

/** `abortTransaction`: undoes the transaction's writes. */
export function abortTransaction(context: CommandContext): Doc {
  const { state, participation } = context;
  const session = participation.session;
  if (session === null) throw notInTransaction(context);
  if (session.outcome === 'aborted' || session.outcome === 'committed')
    throw endedTransaction(session, session.txnNumber, state.version);
  state.sessions.abort(session);
  return new Map();
}

function notInTransaction({ request }: CommandContext): CommandError {
  return new CommandError(125, 'CommandFailed', `${request.name} must be run within a transaction`);
}
