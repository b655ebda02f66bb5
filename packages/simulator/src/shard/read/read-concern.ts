import { Timestamp } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import type { CommandRequest, RoutedAccess } from '../../node/command.js';
import { docOf } from '../../node/doc-fields.js';
import { failure } from '../failure.js';
import type { Participation } from '../session/sessions.js';
import type { ShardState } from '../shard-state.js';
import { LATEST, timeKey, timeText, type TimeKey } from '../storage/time-key.js';

const LEVELS: ReadonlySet<Value> = new Set(['local', 'majority', 'linearizable', 'available', 'snapshot']);
const FIELDS: ReadonlySet<string> = new Set([
  'level',
  'afterClusterTime',
  'atClusterTime',
  'afterOpTime',
  'provenance',
  'allowTransactionTableSnapshot',
]);
/** Levels that may wait for a cluster time. */
const CAUSAL: ReadonlySet<Value> = new Set(['local', 'majority', 'snapshot']);

/**
 * Prepares a command's read: checks its read concern, advances the node to `afterClusterTime`, and waits for prepared
 * transactions that the read would have to show.
 * @returns undefined when there is nothing to wait for
 * @throws CommandError 9 or 72 for a read concern that the server refuses
 */
export function readiness(
  state: ShardState,
  { body }: CommandRequest,
  participation: Participation,
): Promise<unknown> | undefined {
  const concern = docOf(body.get('readConcern'));
  if (concern === undefined)
    return participation.transaction === null ? undefined : startReadiness(state, participation, body);
  checkReadConcern(state, concern);
  if (participation.transaction === null) refuseSnapshotOf44(state, concern, body);
  const after = concern.get('afterClusterTime');
  if (after instanceof Timestamp && timeKey(after) > state.oplog.lastKey)
    state.oplog.appendSilent(new Map([['msg', 'noop write for afterClusterTime read concern']]));
  const time = concern.get('atClusterTime');
  if (time instanceof Timestamp) return state.sessions.preparedUpTo(timeKey(time));
  const level = concern.get('level');
  const waits =
    after !== undefined ||
    level === 'majority' ||
    level === 'linearizable' ||
    level === 'snapshot' ||
    participation.transaction !== null;
  return waits ? state.sessions.preparedUpTo(LATEST) : undefined;
}

function startReadiness(state: ShardState, participation: Participation, body: Doc): Promise<unknown> | undefined {
  if (body.get('startTransaction') !== true) return undefined;
  const time: TimeKey = participation.transaction?.view.time ?? LATEST;
  return state.sessions.preparedUpTo(time);
}

/** Before 5.0 only transactions read at a time. @throws CommandError 72 */
function refuseSnapshotOf44({ version }: ShardState, concern: Doc, body: Doc): void {
  if (version.atLeast(5, 0) || concern.get('level') !== 'snapshot') return;
  throw failure.invalidOptions(
    `readConcern level snapshot requires a ${body.has('lsid') ? 'txnNumber' : 'session ID'}`,
  );
}

/** @throws CommandError 9 or 72 */
function checkReadConcern(state: ShardState, concern: Doc): void {
  for (const name of concern.keys())
    if (!FIELDS.has(name)) throw failure.invalidOptions(`Unrecognized option in readConcern: ${name}`);
  const level = concern.get('level');
  if (level !== undefined && !LEVELS.has(level)) {
    throw failure.failedToParse(
      "readConcern.level must be either 'local', 'majority', 'linearizable', 'available', or 'snapshot'",
    );
  }
  const after = concern.get('afterClusterTime');
  if (after === undefined) return;
  if (!(after instanceof Timestamp))
    throw failure.typeMismatch('"afterClusterTime" had the wrong type. Expected timestamp');
  if (concern.has('atClusterTime'))
    throw failure.invalidOptions('Specifying both atClusterTime and afterClusterTime is not allowed');
  if (level !== undefined && !CAUSAL.has(level)) {
    throw failure.invalidOptions(
      'afterClusterTime field can be set only if level is equal to majority, local, or snapshot',
    );
  }
  if (after.t === 0 && after.i === 0) throw failure.invalidOptions('afterClusterTime cannot be a null timestamp');
  const current = state.options.clock.current();
  if (timeKey(after) <= timeKey(current)) return;
  const shown = (time: Timestamp): string => `{ ts: ${timeText(time)} }`;
  throw failure.invalidOptions(
    'readConcern afterClusterTime value must not be greater than the current clusterTime. Requested ' +
      `clusterTime: ${shown(after)}; current clusterTime: ${shown(current)}`,
  );
}

/**
 * Which documents a read skips: those that the shard does not own, unless no router sent it or its read concern is
 * `available`.
 */
export function filteredAccess({ body, routed }: CommandRequest): RoutedAccess | undefined {
  return docOf(body.get('readConcern'))?.get('level') === 'available' ? undefined : routed;
}
