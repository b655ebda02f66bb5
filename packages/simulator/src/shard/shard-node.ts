import { setTimeout as delay } from 'node:timers/promises';
import { Binary, type Timestamp } from 'bson';
import { encodeDocument } from '../bson/encode.js';
import type { Doc, Value } from '../bson/value.js';
import { CommandError, type CommandNode, type CommandRequest, type RoutedAccess } from '../node/command.js';
import { collectionOf, databaseOf } from '../node/namespace.js';
import type { BlockedMember } from '../node/user-write-block.js';
import { hasCommand, refuseForeignFields } from '../node/release-rules.js';
import { openChangeStream } from './change-stream/open-stream.js';
import { listedSpec } from './commands/indexes.js';
import { buildIndexes } from './index-spec/build.js';
import { commandTable } from './commands/command-table.js';
import { dropCollection, removeCollection } from './commands/drop.js';
import type { DonatedMove } from './donated-moves.js';
import { createOperation } from './oplog/ddl-operations.js';
import { documentKeyFrom } from './oplog/document-key.js';
import { refuseInvalidTime, waitWithin } from './command-limits.js';
import { failure } from './failure.js';
import { refuseInvalidWriteConcern } from './write/write-concern.js';
import type { FailPoint } from '../faults/fail-point.js';
import { WOULD_CHANGE_OWNING_SHARD } from './write/shard-key-change.js';
import type { Participation } from './session/sessions.js';
import { readiness } from './read/read-concern.js';
import type { RunningTransaction } from './session/running-transaction.js';
import { refuseInTransaction } from './session/transaction-rules.js';
import type { DdlEvent } from './oplog/entry.js';
import type { CollectionFacts, SessionRecord, ShardAccess, ShardStream, ShardStreamOptions } from './shard-access.js';
import { ShardState, type ShardNodeOptions } from './shard-state.js';
import type { View } from './storage/catalog.js';
import type { Collection } from './storage/collection.js';
import { visibleBytes, type ReadView } from './storage/record.js';
import { LATEST, timeKey } from './storage/time-key.js';
import { HeldByTransaction } from './storage/write-unit.js';

/** The server's `periodicNoopIntervalSecs` in test clusters. */
const NOOP_INTERVAL_MS = 1000;
const NOW: ReadView = { time: LATEST, transaction: null };

function transactional(state: ShardState, { transaction }: Participation): ShardState {
  return transaction === null ? state : state.within(transaction);
}

/** One data-bearing member: answers commands on its own data. */
export class ShardNode implements CommandNode, ShardAccess, BlockedMember {
  readonly name: string;
  readonly #state: ShardState;
  readonly #housekeepingMs: number;
  #housekeeping: NodeJS.Timeout | undefined;

  constructor(options: ShardNodeOptions) {
    this.name = options.name;
    this.#state = new ShardState(options);
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
      if (transaction === null || (request.routed ?? state.ownership()) === undefined) return reply;
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

  coordinate(transaction: Doc, participants: number): void {
    this.#state.coordinators.note(transaction, participants);
  }

  async beginBlock(signal: AbortSignal): Promise<() => void> {
    this.#state.builds.abort();
    return this.#state.lock.takeAlone(signal);
  }

  /** Sets the fail point at which index builds hang. */
  holdBuildsAt(point: FailPoint | undefined): void {
    this.#state.builds.point = point ?? null;
  }

  beginMove(move: DonatedMove): () => void {
    return this.#state.moves.begin(move);
  }

  async moveHeld(signal: AbortSignal): Promise<void> {
    await this.#state.moves.point?.held(signal);
  }

  /** As `serverStatus` shows the move that is under way. */
  get moveStatus(): Doc | undefined {
    return this.#state.moves.status?.(this.name);
  }

  /** Sets the fail point at which moves of chunks hang. */
  holdMovesAt(point: FailPoint | undefined): void {
    this.#state.moves.point = point ?? null;
  }

  /** Sets the fail point at which commits hang. */
  holdCommitsAt(point: FailPoint | undefined): void {
    this.#state.commitPoint = point ?? null;
  }

  /** Applies a server parameter that limits the shard's data. */
  applyParameter(name: string, value: number): void {
    const { sessions, cursors, history, ttl } = this.#state;
    if (name === 'transactionLifetimeLimitSeconds') sessions.transactionLifetimeMs = value * 1000;
    else if (name === 'cursorTimeoutMillis') cursors.idleMsMax = value;
    else if (name === 'minSnapshotHistoryWindowInSeconds') history.windowSeconds = value;
    else if (name === 'ttlMonitorSleepSecs') ttl.sleepSeconds = value;
    else if (name === 'ttlMonitorEnabled') ttl.enabled = value !== 0;
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

  lastAppliedTime(): Timestamp {
    return this.#state.oplog.lastTime;
  }

  appendNoop(message: Doc): Timestamp {
    return this.#state.oplog.appendSilent(message);
  }

  databaseNames(): string[] {
    return this.#state.catalog.databaseNames();
  }

  hasDatabase(db: string): boolean {
    return this.#state.catalog.hasDatabase(db);
  }

  collection(namespace: string): CollectionFacts | undefined {
    const collection = this.#state.catalog.collection(namespace);
    return collection === undefined ? undefined : factsOf(collection);
  }

  view(
    namespace: string,
  ): { readonly viewOn: string; readonly pipeline: readonly Value[]; readonly options: Doc } | undefined {
    return this.#state.catalog.view(namespace);
  }

  collectionsOf(db: string): CollectionFacts[] {
    return this.#state.catalog.collectionsOf(db).map(factsOf);
  }

  ensureCollection(namespace: string, uuid: Binary, options: Doc, indexes: readonly Doc[], shown = false): void {
    const { catalog, oplog } = this.#state;
    let collection = catalog.collection(namespace);
    if (collection === undefined) {
      const clusterTime = oplog.nextTime();
      collection = catalog.addCollection(namespace, options, timeKey(clusterTime), uuid);
      oplog.append(clusterTime, [createOperation(collection, !shown)]);
    }
    buildIndexes(this.#state, collection, indexes, { fromMigrate: !shown });
  }

  viewsOf(db: string): readonly View[] {
    return this.#state.catalog.viewsOf(db);
  }

  replaceViews(db: string, views: readonly View[]): void {
    const { catalog } = this.#state;
    for (const { namespace } of catalog.viewsOf(db)) catalog.removeView(namespace);
    for (const view of views) catalog.addView(view);
  }

  forgetCollection(namespace: string, shown = false): void {
    const { catalog, oplog } = this.#state;
    const collection = catalog.collection(namespace);
    if (collection === undefined) return;
    if (shown) dropCollection(this.#state, collection);
    else removeCollection(this.#state, collection, timeKey(oplog.appendSilent(new Map([['drop', namespace]]))));
  }

  renameSilently(from: string, to: string): void {
    const { catalog, oplog } = this.#state;
    const collection = catalog.collection(from);
    if (collection === undefined) return;
    const clusterTime = oplog.nextTime();
    catalog.renameCollection(collection, to, timeKey(clusterTime));
    oplog.append(clusterTime, [{ kind: 'silent', note: new Map([['renameCollection', from]]) }]);
  }

  setShardKey(namespace: string, key: Doc | undefined): void {
    this.#state.catalog.setShardKey(namespace, key === undefined ? undefined : [...key.keys()]);
  }

  documents(namespace: string, wanted: (document: Uint8Array) => boolean): Uint8Array[] {
    const collection = this.#state.catalog.collection(namespace);
    const found: Uint8Array[] = [];
    for (const record of collection?.records.ascend() ?? []) {
      const bytes = visibleBytes(record, NOW);
      if (bytes !== null && wanted(bytes)) found.push(bytes);
    }
    return found;
  }

  receiveMigrated(namespace: string, documents: readonly Uint8Array[]): void {
    const { catalog, oplog } = this.#state;
    const collection = catalog.collection(namespace);
    if (collection === undefined) throw new CommandError(26, 'NamespaceNotFound', `ns not found: ${namespace}`);
    const clusterTime = oplog.nextTime();
    const unit = { time: timeKey(clusterTime), transaction: null };
    try {
      for (const document of documents) collection.insert(document, unit);
    } catch (error) {
      throw error instanceof HeldByTransaction ? failure.writeConflict() : error;
    }
    oplog.append(clusterTime, [{ kind: 'silent', note: new Map([['migratedTo', namespace]]) }]);
  }

  async transactionsDone(namespace: string, limitMs: number): Promise<void> {
    const limit = new AbortController();
    const late = delay(limitMs, 'late' as const, { signal: limit.signal }).catch(() => 'late' as const);
    const running = (): RunningTransaction[] =>
      this.#state.sessions.runningOn(databaseOf(namespace), collectionOf(namespace));
    for (let first = running()[0]; first !== undefined; first = running()[0]) {
      if ((await Promise.race([first.storage.ended, late])) === 'late') {
        throw new CommandError(24, 'LockTimeout', `Unable to acquire lock '{${namespace}}' within ${limitMs}ms.`);
      }
    }
    limit.abort();
  }

  cursorMark(): number {
    return this.#state.cursors.opened;
  }

  hasCursorsBefore(namespace: string, mark: number): boolean {
    const collection = this.#state.catalog.collection(namespace);
    return collection !== undefined && this.#state.cursors.hasEarlier(collection.uuid.toString('hex'), mark);
  }

  sessionRecords(namespace: string, wanted: (document: Uint8Array) => boolean): SessionRecord[] {
    return this.#state.sessions.records(
      ({ target, document }) => `${target.db}.${target.collection}` === namespace && wanted(document),
    );
  }

  receiveSessionRecords(records: readonly SessionRecord[]): void {
    this.#state.sessions.receive(records);
  }

  removeMigrated(namespace: string, wanted: (document: Uint8Array) => boolean): number {
    const { catalog, oplog } = this.#state;
    const collection = catalog.collection(namespace);
    if (collection === undefined) return 0;
    const clusterTime = oplog.nextTime();
    const unit = { time: timeKey(clusterTime), transaction: null };
    let removed = 0;
    for (const record of collection.records.ascend()) {
      const bytes = visibleBytes(record, NOW);
      if (bytes === null || !wanted(bytes)) continue;
      collection.delete(record, unit);
      removed += 1;
    }
    oplog.append(clusterTime, [{ kind: 'silent', note: new Map([['migratedFrom', namespace]]) }]);
    return removed;
  }

  noteNewShard(namespace: string, to: string): void {
    const { catalog, oplog } = this.#state;
    const collection = catalog.collection(namespace);
    if (collection === undefined) return;
    oplog.append(oplog.nextTime(), [{ kind: 'newShard', target: collection.target, from: this.name, to }]);
  }

  noteDdl(namespace: string, event: DdlEvent, description: Doc): void {
    const { catalog, oplog } = this.#state;
    const collection = catalog.collection(namespace);
    if (collection === undefined) return;
    oplog.append(oplog.nextTime(), [{ kind: 'definition', event, target: collection.target, description }]);
  }

  findByKey(namespace: string, documentKey: Doc): Uint8Array | undefined {
    const record = this.#state.catalog.collection(namespace)?.recordById(documentKey.get('_id') ?? null, NOW);
    const bytes = record === null || record === undefined ? null : visibleBytes(record, NOW);
    if (bytes === null) return undefined;
    const present = documentKeyFrom(bytes, [...documentKey.keys()]);
    return encodeDocument(present).equals(encodeDocument(documentKey)) ? bytes : undefined;
  }

  openStream(options: ShardStreamOptions): ShardStream {
    return openChangeStream(this.#state, options);
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

function factsOf(collection: Collection): CollectionFacts {
  return {
    namespace: collection.namespace,
    uuid: collection.uuid,
    options: collection.options,
    indexes: collection.listedIndexes.map(({ definition }) => listedSpec(definition.spec)),
    documentCount: collection.documentCount,
    documentBytes: collection.documentBytes,
    isMultikey: (name) => collection.indexes.some((index) => index.definition.name === name && index.multikey),
  };
}
