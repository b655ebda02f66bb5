import { ObjectId } from 'bson';
import { DateTime, type Doc, type Value } from '../bson/value.js';
import { numberOf } from '../node/doc-fields.js';
import { isInternalDatabase } from '../node/user-write-block.js';
import { timeSeriesOf } from '../time-series/bucketing.js';
import { firstTimePath } from '../time-series/translation.js';
import { matchedRecords, type MatchedRecord } from './read/find-records.js';
import type { ShardState } from './shard-state.js';
import type { Collection } from './storage/collection.js';
import { heldByAnother } from './storage/record.js';
import { LATEST } from './storage/time-key.js';

/** `ttlMonitorSleepSecs`, settable at runtime. */
const ttlSleepSecondsDefault = 60;

const millisecondsPerSecond = 1000;
/** The earliest date, which excludes values of other types below dates. */
const earliest = new DateTime(-(2n ** 63n));
/** Documents that one oplog entry deletes since 6.1 (`batchedDeletesTargetBatchDocs`). */
export const batchDocuments = 10;

/** The rule by which documents of a collection expire. */
interface Expiry {
  readonly path: string;
  /** True where the path has ids whose times count, not dates. */
  readonly isOfIds?: boolean;
  readonly seconds: number;
  /** Whether an index holds the document. Undefined for all documents. */
  readonly holds: ((document: Uint8Array) => boolean) | undefined;
}

/**
 * Deletes expired documents by TTL indexes and in clustered collections, periodically (server source: ttl.cpp of 5.0.7,
 * verified for every kind of index and value). A bucket of measurements expires as a whole, after its longest span.
 */
export class TtlMonitor {
  enabled = true;
  #sleepSeconds = ttlSleepSecondsDefault;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly state: ShardState) {}

  set sleepSeconds(seconds: number) {
    this.#sleepSeconds = seconds;
    if (this.#timer === undefined) return;
    this.stop();
    this.start();
  }

  start(): void {
    this.#timer ??= setInterval(() => this.pass(), this.#sleepSeconds * millisecondsPerSecond).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /**
   * Checks all collections once. Skips users' databases while the node's lock is wanted or users' writes are blocked.
   */
  pass(): void {
    const { catalog, lock, writeBlock } = this.state;
    if (!this.enabled || lock.isWanted) return;
    for (const db of catalog.databaseNames()) {
      if (db === 'local' || (writeBlock.enabled && !isInternalDatabase(db))) continue;
      for (const collection of catalog.collectionsOf(db)) this.#clear(collection);
    }
  }

  #clear(collection: Collection): void {
    if (collection.cap !== undefined) return;
    for (const expiry of expiriesOf(collection)) {
      const expired = [...this.#expired(collection, expiry)];
      const together = this.state.version.atLeast(6, 1) ? batchDocuments : 1;
      for (let at = 0; at < expired.length; at += together) this.#delete(collection, expired.slice(at, at + together));
    }
  }

  *#expired(collection: Collection, { path, seconds, holds, isOfIds }: Expiry): Generator<MatchedRecord> {
    const latestMs = Math.trunc(this.state.now() - seconds * millisecondsPerSecond);
    const range: [string, Value][] =
      isOfIds === true
        ? [['$lt', firstIdOf(latestMs)]]
        : [
            ['$gte', earliest],
            ['$lte', new DateTime(BigInt(latestMs))],
          ];
    const filter: Doc = new Map([[path, new Map(range)]]);
    const search = { hint: undefined, sort: undefined, collation: collection.collation, variables: undefined };
    for (const found of matchedRecords(collection, filter, { time: LATEST, transaction: null }, search)) {
      if (!heldByAnother(found.record, null) && holds?.(found.bytes) !== false) yield found;
    }
  }

  /** Orphans too. Since 6.0 no event reports them. */
  #delete(collection: Collection, expired: readonly MatchedRecord[]): void {
    const owner = this.state.version.atLeast(6, 0) ? this.state.ownership() : undefined;
    const isShown = ({ bytes }: MatchedRecord): boolean => owner?.owns(collection.namespace, bytes) !== false;
    this.state.writer.deleteTogether(collection, expired, isShown);
  }
}

/** The least id of a time. */
function firstIdOf(ms: number): ObjectId {
  const id = Buffer.alloc(12);
  id.writeUInt32BE(Math.max(0, Math.floor(ms / millisecondsPerSecond)));
  return new ObjectId(id);
}

/** Indexes of one field in the order of its values. The server only logs others. */
function expiriesOf(collection: Collection): Expiry[] {
  const series = timeSeriesOf(collection.options);
  const ofIndexes = collection.secondaryIndexes.flatMap(({ definition: { spec, fields, built, holds } }): Expiry[] => {
    const [field, second] = fields;
    const seconds = numberOf(spec.get('expireAfterSeconds'));
    // 4.4 stores seconds that are no number, and nothing expires by them.
    if (seconds === undefined || Number.isNaN(seconds) || !built || field === undefined || field.hashed) return [];
    if (series !== undefined && field.path === firstTimePath(series))
      return [{ path: field.path, seconds: seconds + series.maxSpan_seconds, holds }];
    return second === undefined ? [{ path: field.path, seconds: Math.trunc(seconds), holds }] : [];
  });
  const seconds = collection.options.has('clusteredIndex')
    ? numberOf(collection.options.get('expireAfterSeconds'))
    : undefined;
  if (seconds === undefined) return ofIndexes;
  const ofClusters: Expiry = { path: '_id', seconds, holds: undefined };
  if (series === undefined) return [...ofIndexes, ofClusters];
  return [...ofIndexes, { ...ofClusters, seconds: seconds + series.maxSpan_seconds, isOfIds: true }];
}
