import { Binary, type Timestamp } from 'bson';
import { encodeDocument } from '../bson/encode.js';
import type { Doc } from '../bson/value.js';
import { CommandError, type CommandNode, type CommandRequest } from '../node/command.js';
import { hasCommand, refuseForeignFields } from '../node/release-rules.js';
import { openChangeStream } from './change-stream/open-stream.js';
import { listedSpec } from './commands/indexes.js';
import { buildIndexes } from './index-spec/build.js';
import { commandTable } from './commands/command-table.js';
import { removeCollection } from './commands/drop.js';
import { documentKeyFrom } from './oplog/document-key.js';
import type { CollectionFacts, ShardAccess, ShardStream, ShardStreamOptions } from './shard-access.js';
import { ShardState, type ShardNodeOptions } from './shard-state.js';
import type { Collection } from './storage/collection.js';
import { visibleBytes, type ReadView } from './storage/record.js';
import { LATEST, timeKey } from './storage/time-key.js';

/** The server's `periodicNoopIntervalSecs` in test clusters. */
const NOOP_INTERVAL_MS = 1000;
const NOW: ReadView = { time: LATEST, transaction: null };

/** One data-bearing member: answers commands on its own data. */
export class ShardNode implements CommandNode, ShardAccess {
  readonly name: string;
  readonly #state: ShardState;
  readonly #housekeeping: NodeJS.Timeout | undefined;

  constructor(options: ShardNodeOptions) {
    this.name = options.name;
    this.#state = new ShardState(options);
    const interval = options.noopIntervalMs ?? NOOP_INTERVAL_MS;
    if (interval > 0) this.#housekeeping = this.#startHousekeeping(interval);
  }

  async run(request: CommandRequest): Promise<Doc> {
    const handler = hasCommand(this.#state.version, request.name) ? commandTable.get(request.name) : undefined;
    if (handler === undefined) throw new CommandError(59, 'CommandNotFound', `no such command: '${request.name}'`);
    const state = this.#state;
    refuseForeignFields(state.version, request);
    const participation = state.sessions.begin(request);
    try {
      return await state.writeBlock.actAs(request.connection, () => handler({ state, request, participation }));
    } catch (error) {
      const { session, transaction } = participation;
      if (session !== null && transaction !== null && session.running === transaction) state.sessions.abort(session);
      throw error;
    }
  }

  /** Stops timers and ends all cursors. */
  close(): void {
    clearInterval(this.#housekeeping);
    this.#state.cursors.closeAll();
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

  collection(namespace: string): CollectionFacts | undefined {
    const collection = this.#state.catalog.collection(namespace);
    return collection === undefined ? undefined : factsOf(collection);
  }

  collectionsOf(db: string): CollectionFacts[] {
    return this.#state.catalog.collectionsOf(db).map(factsOf);
  }

  ensureCollection(namespace: string, uuid: Binary, options: Doc, indexes: readonly Doc[]): void {
    const { catalog, oplog } = this.#state;
    let collection = catalog.collection(namespace);
    if (collection === undefined) {
      const clusterTime = oplog.nextTime();
      collection = catalog.addCollection(namespace, options, timeKey(clusterTime), uuid);
      oplog.append(clusterTime, [{ kind: 'silent', note: new Map([['create', namespace]]) }]);
    }
    buildIndexes(this.#state, collection, indexes);
  }

  forgetCollection(namespace: string): void {
    const collection = this.#state.catalog.collection(namespace);
    if (collection !== undefined) removeCollection(this.#state, collection);
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
    for (const document of documents) collection.insert(document, unit);
    oplog.append(clusterTime, [{ kind: 'silent', note: new Map([['migratedTo', namespace]]) }]);
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

  failPointActive(name: string): boolean {
    return this.#state.failPoints.has(name);
  }

  /** Writes a no-op when nothing else was written since the last look, and clears away what has outlived its time. */
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
    indexes: collection.indexes.map(({ definition }) => listedSpec(definition.spec)),
    documentCount: collection.documentCount,
    documentBytes: collection.documentBytes,
  };
}
