import type { Timestamp } from 'bson';
import type { Doc } from '../bson/value.js';
import type { FailPoint } from '../faults/fail-point.js';
import { CommandError, type CommandNode, type CommandRequest, type RoutedAccess } from '../node/command.js';
import { hasCommand, refuseForeignFields } from '../node/release-rules.js';
import type { BlockedMember } from '../node/user-write-block.js';
import { refuseInvalidTime, waitWithin } from './command-limits.js';
import { commandTable } from './commands/command-table.js';
import { readiness } from './read/read-concern.js';
import type { Participation } from './session/sessions.js';
import { refuseInTransaction } from './session/transaction-rules.js';
import { ShardAccess } from './shard-access.js';
import { ShardState, type ShardNodeOptions } from './shard-state.js';
import { timeKey } from './storage/time-key.js';
import { WOULD_CHANGE_OWNING_SHARD } from './write/shard-key-change.js';
import { refuseInvalidWriteConcern } from './write/write-concern.js';

/** The server's `periodicNoopIntervalSecs` in test clusters. */
const NOOP_INTERVAL_MS = 1000;

/** One data-bearing member: answers commands on its own data. */
export class ShardNode implements CommandNode, BlockedMember {
  /** What other nodes ask besides commands. */
  readonly access: ShardAccess;
  readonly #state: ShardState;
  readonly #housekeepingMs: number;
  #housekeeping: NodeJS.Timeout | undefined;

  constructor(options: ShardNodeOptions) {
    this.#state = new ShardState(options);
    this.access = new ShardAccess(options.name, this.#state);
    this.#housekeepingMs = options.noopIntervalMs ?? NOOP_INTERVAL_MS;
    this.resume();
  }

  async run(request: CommandRequest): Promise<Doc> {
    const known = hasCommand(this.#state.features, request.name);
    const handler = known ? commandTable.get(request.name) : undefined;
    if (handler === undefined) throw new CommandError(59, 'CommandNotFound', `no such command: '${request.name}'`);
    const state = this.#state;
    refuseForeignFields(state.release, request);
    refuseInvalidTime(request.body);
    refuseInvalidWriteConcern(request.body);
    const entered = state.lock.enter(request);
    if (entered !== undefined) await entered;
    const participation = state.sessions.begin(request);
    try {
      if (participation.transaction !== null) {
        refuseInTransaction(request);
        const named = request.body.get(request.name);
        if (typeof named === 'string') state.exclusive.begin(participation.transaction, `${request.db}.${named}`);
      }
      const ready = readiness(state, request, participation);
      if (ready !== undefined) await waitWithin(ready, request.body, request.signal);
      request.routed?.refuseStale();
      const reply = await state.writeBlock.actAs(request.connection, () =>
        handler({ state: transactional(state, participation), request, participation }),
      );
      const { session, transaction } = participation;
      if ((request.routed ?? state.ownership()) === undefined) return reply;
      // 8.0.10 shows it to clients of a shard with every number of a session.
      if (transaction === null && session !== null && request.routed === undefined && state.version.atLeast(8, 0))
        return request.body.has('txnNumber') ? reply.set('readOnly', false) : reply;
      if (transaction === null) return reply;
      return reply.set('readOnly', session?.running === transaction && transaction.operations.length === 0);
    } catch (error) {
      const { session, transaction } = participation;
      const goesOn = error instanceof CommandError && error.code === WOULD_CHANGE_OWNING_SHARD;
      const decides = transaction?.prepareTime !== undefined;
      if (session !== null && transaction !== null && session.running === transaction && !goesOn && !decides)
        state.sessions.abort(session);
      throw error;
    }
  }

  /** Deletes expired documents, as the background task does. */
  removeExpired(): void {
    this.#state.ttl.pass();
  }

  /** Sets which documents the shard owns. */
  knowOwnership(ownership: () => RoutedAccess): void {
    this.#state.ownership = ownership;
  }

  async beginBlock(signal: AbortSignal): Promise<() => void> {
    this.#state.builds.abort();
    return this.#state.lock.takeAlone(signal);
  }

  /** Sets the fail point at which index builds hang. */
  holdBuildsAt(point: FailPoint | undefined): void {
    this.#state.builds.point = point ?? null;
  }

  /** As `serverStatus` shows the move that is under way. */
  get moveStatus(): Doc | undefined {
    return this.#state.moves.status?.(this.access.name);
  }

  /** Sets the fail point at which moves of chunks hang. */
  holdMovesAt(point: FailPoint | undefined): void {
    this.#state.moves.point = point ?? null;
  }

  /** Sets the fail point at which databases hang that move from here. */
  holdClonesAt(point: FailPoint | undefined): void {
    this.#state.led.clonePoint = point ?? null;
  }

  /** Sets the fail point at which commits hang. */
  holdCommitsAt(point: FailPoint | undefined): void {
    this.#state.commitPoint = point ?? null;
  }

  /** Applies a server parameter that limits the shard's data. */
  applyParameter(name: string, value: number): void {
    const { catalog, sessions, cursors, history, ttl } = this.#state;
    if (name === 'transactionLifetimeLimitSeconds') sessions.transactionLifetimeMs = value * 1000;
    else if (name === 'cursorTimeoutMillis') cursors.idleMsMax = value;
    else if (name === 'minSnapshotHistoryWindowInSeconds') history.windowSeconds = value;
    else if (name === 'ttlMonitorSleepSecs') ttl.sleepSeconds = value;
    else if (name === 'ttlMonitorEnabled') ttl.enabled = value !== 0;
    else if (name === 'notablescan') catalog.scans.refused = value !== 0;
  }

  /** Stops timers and closes all cursors. */
  close(): void {
    this.standStill();
    this.#state.cursors.closeAll();
  }

  /**
   * Drops what is in memory only, as the end of the process does: cursors, running transactions, unwritten session
   * numbers.
   */
  crash(): void {
    this.#state.interruption.byShutdown();
    this.close();
    this.#state.openBuckets.clear();
    this.#state.sessions.forgetVolatile();
  }

  /** Aborts running transactions and waiting writes. Cursors continue, as after a step-down. */
  stepDown(): void {
    this.#state.interruption.byStepDown();
    this.standStill();
    this.#state.openBuckets.clear();
    this.#state.sessions.forgetVolatile();
  }

  /** Writes nothing more on its own, until `resume`. */
  standStill(): void {
    clearInterval(this.#housekeeping);
    this.#state.ttl.stop();
    this.#housekeeping = undefined;
  }

  /** Continues after `crash`, `stepDown` or `standStill`. */
  resume(): void {
    this.#state.ttl.start();
    if (this.#housekeepingMs > 0) this.#housekeeping ??= this.#startHousekeeping(this.#housekeepingMs);
  }

  /** Truncates the oplog below a time, as newer entries would. The newest entry always stays. */
  loseOplogBefore(time: Timestamp): void {
    this.#state.oplog.loseBefore(timeKey(time));
  }

  /** Writes a no-op when nothing else was written since the last check, and removes what has expired. */
  #startHousekeeping(intervalMs: number): NodeJS.Timeout {
    const { oplog, sessions, cursors, history } = this.#state;
    let seen = oplog.end;
    const timer = setInterval(() => {
      if (oplog.end === seen) oplog.appendSilent(new Map([['msg', 'periodic noop']]));
      seen = oplog.end;
      sessions.expire();
      cursors.expire();
      history.purge();
    }, intervalMs);
    timer.unref();
    return timer;
  }
}

function transactional(state: ShardState, { transaction }: Participation): ShardState {
  return transaction === null ? state : state.within(transaction);
}
