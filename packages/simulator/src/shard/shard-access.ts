import { setTimeout as delay } from 'node:timers/promises';
import type { Binary, Timestamp } from 'bson';
import { encodeDocument } from '../bson/encode.js';
import type { Doc, Value } from '../bson/value.js';
import { CommandError } from '../node/command.js';
import { doc } from '../node/doc-fields.js';
import { collectionOf, databaseOf } from '../node/namespace.js';
import { openChangeStream } from './change-stream/open-stream.js';
import type { ShardStream, ShardStreamOptions } from './change-stream/shard-stream.js';
import { dropCollection, removeCollection } from './commands/drop.js';
import { listedSpec } from './commands/indexes.js';
import type { DonatedMove } from './donated-moves.js';
import { failure } from './failure.js';
import { buildIndexes } from './index-spec/build.js';
import { createOperation } from './oplog/ddl-operations.js';
import { documentKeyFrom } from './oplog/document-key.js';
import type { DdlEvent } from './oplog/entry.js';
import type { StatementResult } from './session/logical-session.js';
import type { RunningTransaction } from './session/running-transaction.js';
import type { ShardState } from './shard-state.js';
import type { Coordinated } from './shown-coordinators.js';
import type { View } from './storage/catalog.js';
import type { Collection } from './storage/collection.js';
import { visibleBytes, type ReadView } from './storage/record.js';
import { LATEST, timeKey } from './storage/time-key.js';
import { HeldByTransaction } from './storage/write-unit.js';

const NOW: ReadView = { time: LATEST, transaction: null };

/** The writes of one statement of a retryable write. */
export interface SessionRecord {
  readonly lsid: Doc;
  readonly txnNumber: bigint;
  readonly statementId: number;
  readonly result: StatementResult;
}

/** What a shard reports of one collection to the router and the config server. */
export interface CollectionFacts {
  readonly namespace: string;
  /** UUID, subtype 4; the same on every shard for a sharded collection. */
  readonly uuid: Binary;
  /** Creation options as `listCollections` shows them, without `uuid`. */
  readonly options: Doc;
  /** Index descriptions as `listIndexes` shows them, `_id_` first. */
  readonly indexes: readonly Doc[];
  readonly documentCount: number;
  readonly documentBytes: number;
  /** Whether a field of an index has been an array. */
  isMultikey(index: string): boolean;
}

/**
 * What the rest of a simulated cluster may ask of a shard besides commands. All but the waits takes effect at once.
 * Documents are raw BSON, which the caller must not change.
 */
export class ShardAccess {
  constructor(
    readonly name: string,
    private readonly state: ShardState,
  ) {}

  /** Time of the shard's last oplog entry: its `operationTime` and `lastCommittedOpTime`. */
  lastAppliedTime(): Timestamp {
    return this.state.oplog.lastTime;
  }

  /** Appends a no-op to the oplog, so that the shard's time and its idle streams advance. */
  appendNoop(message: Doc): Timestamp {
    return this.state.oplog.appendSilent(message);
  }

  databaseNames(): string[] {
    return this.state.catalog.databaseNames();
  }

  /** True from a database's first collection until it is dropped, also without any. */
  hasDatabase(db: string): boolean {
    return this.state.catalog.hasDatabase(db);
  }

  collection(namespace: string): CollectionFacts | undefined {
    const collection = this.state.catalog.collection(namespace);
    return collection === undefined ? undefined : factsOf(collection);
  }

  collectionsOf(db: string): CollectionFacts[] {
    return this.state.catalog.collectionsOf(db).map(factsOf);
  }

  /** A view, or the one of a time-series collection. Undefined for other names. */
  view(
    namespace: string,
  ): { readonly viewOn: string; readonly pipeline: readonly Value[]; readonly options: Doc } | undefined {
    return this.state.catalog.view(namespace);
  }

  /**
   * Creates a collection with another shard's UUID, and indexes. Does nothing for an existing one.
   * @param shown whether streams that show creations show it; not for a sharded collection
   */
  ensureCollection(namespace: string, uuid: Binary, options: Doc, indexes: readonly Doc[], shown = false): void {
    const { catalog, oplog } = this.state;
    let collection = catalog.collection(namespace);
    if (collection === undefined) {
      const clusterTime = oplog.nextTime();
      collection = catalog.addCollection(namespace, options, timeKey(clusterTime), uuid);
      collection.mixesSchemas = !this.state.version.atLeast(6, 0);
      oplog.append(clusterTime, [createOperation(collection, !shown)]);
    }
    buildIndexes(this.state, collection, indexes, { fromMigrate: !shown });
  }

  /** The views of a database, whose definitions lie in its `system.views`. */
  viewsOf(db: string): readonly View[] {
    return this.state.catalog.viewsOf(db);
  }

  /** Replaces the views of a database by these, after a change of their definitions. */
  replaceViews(db: string, views: readonly View[]): void {
    const { catalog } = this.state;
    for (const { namespace } of catalog.viewsOf(db)) catalog.removeView(namespace);
    for (const view of views) catalog.addView(view);
  }

  /** Renames a collection without a change event, as resharding does at its end. Does nothing for a missing one. */
  renameSilently(from: string, to: string): void {
    const { catalog, oplog } = this.state;
    const collection = catalog.collection(from);
    if (collection === undefined) return;
    const clusterTime = oplog.nextTime();
    catalog.renameCollection(collection, to, timeKey(clusterTime));
    oplog.append(clusterTime, [{ kind: 'silent', note: new Map([['renameCollection', from]]) }]);
  }

  /** Drops a collection that must leave a shard. @param shown whether it has a change event */
  forgetCollection(namespace: string, shown = false): void {
    const { catalog, oplog } = this.state;
    const collection = catalog.collection(namespace);
    if (collection === undefined) return;
    if (shown) dropCollection(this.state, collection);
    else removeCollection(this.state, collection, timeKey(oplog.appendSilent(new Map([['drop', namespace]]))));
  }

  /**
   * Sets the sharding of a collection. Undefined for an unsharded one. From then on document keys of updates,
   * replacements and deletes hold the shard key before `_id`.
   */
  setShardKey(namespace: string, key: Doc | undefined): void {
    this.state.catalog.setShardKey(namespace, key === undefined ? undefined : [...key.keys()]);
  }

  /**
   * Records that the shard coordinates a transaction with a commit decision.
   * @param transaction a command of it
   * @param participants how many commit; 0 when all have
   */
  coordinate(transaction: Doc, participants: number): void {
    this.state.coordinators.note(transaction, participants);
  }

  /** Live documents of a collection that `wanted` accepts, in natural order. */
  documents(namespace: string, wanted: (document: Uint8Array) => boolean): Uint8Array[] {
    const collection = this.state.catalog.collection(namespace);
    const found: Uint8Array[] = [];
    for (const record of collection?.records.ascend() ?? []) {
      const bytes = visibleBytes(record, NOW);
      if (bytes !== null && wanted(bytes)) found.push(bytes);
    }
    return found;
  }

  /**
   * Stores documents of a chunk migration, without change events (`fromMigrate`).
   * @throws CommandError 11000 on a duplicate key, 112 when a running transaction holds one of the keys; some documents
   * may be stored then
   */
  receiveMigrated(namespace: string, documents: readonly Uint8Array[]): void {
    const { catalog, oplog } = this.state;
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

  /** Shows that a chunk moves to another shard, until the returned function is called. */
  beginMove(move: DonatedMove): () => void {
    return this.state.moves.begin(move);
  }

  /** Waits while moves hang (fail point `moveChunkHangAtStep4`). */
  async moveHeld(signal: AbortSignal): Promise<void> {
    await this.state.moves.point?.held(signal);
  }

  /** Shows a change that this shard leads until something has happened. */
  coordinating(change: Coordinated, until: Promise<void>): Promise<void> {
    return this.state.led.during(change, until);
  }

  /** Waits while databases that move from here hang (fail point `hangBeforeCloningData`). */
  async cloneHeld(database: string, to: string, signal: AbortSignal): Promise<void> {
    const { clonePoint } = this.state.led;
    // Servers look at the point before they wait at it, and count both.
    if (clonePoint?.enter() === undefined) return;
    const command = doc(['request', doc(['toShardId', to])]);
    const change = { desc: 'MovePrimaryCoordinator', namespace: database, command, phase: 'clone' };
    await this.coordinating(change, clonePoint.held(signal));
  }

  /** Waits for running transactions that wrote to a collection. @throws CommandError 24 when they exceed the limit */
  async transactionsDone(namespace: string, limitMs: number): Promise<void> {
    const limit = new AbortController();
    const late = delay(limitMs, 'late' as const, { signal: limit.signal }).catch(() => 'late' as const);
    const running = (): RunningTransaction[] =>
      this.state.sessions.runningOn(databaseOf(namespace), collectionOf(namespace));
    for (let first = running()[0]; first !== undefined; first = running()[0]) {
      if ((await Promise.race([first.storage.ended, late])) === 'late') {
        throw new CommandError(24, 'LockTimeout', `Unable to acquire lock '{${namespace}}' within ${limitMs}ms.`);
      }
    }
    limit.abort();
  }

  /** Number of cursors opened so far, which separates earlier from later ones. */
  cursorMark(): number {
    return this.state.cursors.opened;
  }

  /** True while a cursor of the collection is open that is older than the mark. */
  hasCursorsBefore(namespace: string, mark: number): boolean {
    const collection = this.state.catalog.collection(namespace);
    return collection !== undefined && this.state.cursors.hasEarlier(collection.uuid.toString('hex'), mark);
  }

  /**
   * The records of retryable writes to documents of a collection that `wanted` accepts, for the shard that receives
   * them.
   */
  sessionRecords(namespace: string, wanted: (document: Uint8Array) => boolean): SessionRecord[] {
    return this.state.sessions.records(
      ({ target, document }) => `${target.db}.${target.collection}` === namespace && wanted(document),
    );
  }

  /** Adds records of another shard. Numbers below the shard's own are skipped. */
  receiveSessionRecords(records: readonly SessionRecord[]): void {
    this.state.sessions.receive(records);
  }

  /**
   * Removes documents that a chunk migration moved away, without change events. Reads at earlier times still see them.
   * @returns their number
   */
  removeMigrated(namespace: string, wanted: (document: Uint8Array) => boolean): number {
    const { catalog, oplog } = this.state;
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

  /**
   * Logs that a migration gives another shard its first chunk of the collection. Streams on this shard alone show
   * `kNewShardDetected`.
   */
  noteNewShard(namespace: string, to: string): void {
    const { catalog, oplog } = this.state;
    const collection = catalog.collection(namespace);
    if (collection === undefined) return;
    oplog.append(oplog.nextTime(), [{ kind: 'newShard', target: collection.target, from: this.name, to }]);
  }

  /**
   * Logs a change of a collection's sharding, which streams with expanded events show.
   * @param description its `operationDescription`
   */
  noteDdl(namespace: string, event: DdlEvent, description: Doc): void {
    const { catalog, oplog } = this.state;
    const collection = catalog.collection(namespace);
    if (collection === undefined) return;
    oplog.append(oplog.nextTime(), [{ kind: 'definition', event, target: collection.target, description }]);
  }

  /** Finds the live document with this `_id` (and the other fields of the key, if given). */
  findByKey(namespace: string, documentKey: Doc): Uint8Array | undefined {
    const record = this.state.catalog.collection(namespace)?.recordById(documentKey.get('_id') ?? null, NOW);
    const bytes = record === null || record === undefined ? null : visibleBytes(record, NOW);
    if (bytes === null) return undefined;
    const present = documentKeyFrom(bytes, [...documentKey.keys()]);
    return encodeDocument(present).equals(encodeDocument(documentKey)) ? bytes : undefined;
  }

  /** Opens a change stream for merging. @throws CommandError as `aggregate` does */
  openStream(options: ShardStreamOptions): ShardStream {
    return openChangeStream(this.state, options);
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
