import { decodeDocument } from '../../bson/decode.js';
import { encodeDocument } from '../../bson/encode.js';
import { compareValues } from '../../bson/compare.js';
import { DateTime, type Doc, type Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { doc } from '../../node/doc-fields.js';
import { bucketDiff } from '../../time-series/bucket-diff.js';
import {
  type Bucket,
  bucketDocument,
  type BucketRules,
  changesSchema,
  compressed,
  counted,
  emptyBucket,
  extended,
  metadataOf,
  readBucket,
} from '../../time-series/bucket.js';
import { firstTimePath } from '../../time-series/translation.js';
import { matchedRecords } from '../read/find-records.js';
import type { ShardState } from '../shard-state.js';
import type { Collection } from '../storage/collection.js';
import { heldByAnother, visibleBytes } from '../storage/record.js';
import { LATEST } from '../storage/time-key.js';

const NOW = { time: LATEST, transaction: null };
/** `timeseriesBucketMaxCount`. */
const measurementsMax = 1000;
/** `timeseriesBucketMaxSize`. */
const bytesMax = 125 * 1024;
/** Since 6.0 a bucket of large measurements may grow beyond it until it has so many (`timeseriesBucketMinCount`). */
const largeMeasurementsMin = 10;
const largeBytesMax = 12 * 1024 * 1024;

const BY_REPLACEMENT = { operators: undefined, replacement: true, byId: true };

/** A measurement that is to be stored. */
export interface Row {
  readonly measurement: Doc;
  readonly bytes: number;
  stored: boolean;
}

/** A bucket that takes measurements: what is stored of it, and what waits to be. */
export class OpenBucket {
  waiting: Row[] = [];
  /** Its least values and count with what waits. */
  grown: Bucket;
  /** The document of its last write. The columns of an open one are those of later writes already. */
  document: Doc | undefined;
  /** A bucket that it replaces, which is compressed then. */
  closes: OpenBucket | undefined;

  constructor(
    readonly key: string,
    /** As it is stored; without measurements before its first write. */
    public bucket: Bucket,
    /** The stored bytes. Undefined before its first write. */
    public stored: Uint8Array | undefined,
    public bytes: number,
  ) {
    this.grown = bucket;
  }
}

/** Why a measurement goes into another bucket. */
type Reason = 'count' | 'size' | 'schema' | 'time';

/**
 * The buckets that take measurements, by collection and metadata. They are in memory only: the buckets of before a
 * restart take no more, or since 6.3 are found again by the index over metadata and time.
 */
export class OpenBuckets {
  readonly #open = new Map<string, OpenBucket>();

  constructor(private readonly state: ShardState) {}

  /** Forgets all, as the end of the process does. */
  clear(): void {
    this.#open.clear();
  }

  forget(open: OpenBucket): void {
    if (this.#open.get(open.key) === open) this.#open.delete(open.key);
  }

  /** The bucket that takes a measurement, which waits there until `store`. */
  take(collection: Collection, rules: BucketRules, row: Row, time: DateTime): OpenBucket {
    const meta = metadataOf(row.measurement, rules.series);
    const named: Doc = new Map(meta === undefined ? [] : [['', meta]]);
    const key = `${collection.uuid.toString('hex')} ${encodeDocument(named).toString('hex')}`;
    const known = this.#current(collection, key);
    const reason = known === undefined ? undefined : this.#reasonAgainst(known, row, time, rules);
    const chosen =
      known !== undefined && reason === undefined
        ? known
        : (this.#reopened(collection, rules, { key, meta, row, time }) ??
          new OpenBucket(key, emptyBucket(rules, time, meta, this.state.version), undefined, 0));
    if (known !== undefined && reason !== undefined && this.#compresses(reason)) chosen.closes = known;
    this.#open.set(key, chosen);
    chosen.waiting.push(row);
    chosen.bytes += row.bytes;
    chosen.grown = counted(chosen.grown, row.measurement, rules);
    return chosen;
  }

  /** The open bucket of a key, unless somebody else has changed or removed it, or its chunk has moved away. */
  #current(collection: Collection, key: string): OpenBucket | undefined {
    const known = this.#open.get(key);
    if (known?.stored === undefined) return known;
    return this.#storedNow(collection, known.bucket) === known.stored && this.#owns(collection, known.stored)
      ? known
      : undefined;
  }

  #storedNow(collection: Collection, { id }: Bucket): Uint8Array | null {
    const record = collection.recordById(id, NOW);
    return record === null ? null : visibleBytes(record, NOW);
  }

  #owns(collection: Collection, bytes: Uint8Array): boolean {
    if (collection.target.shardKey === undefined) return true;
    return this.state.ownership()?.owns(collection.namespace, bytes) !== false;
  }

  #reasonAgainst(open: OpenBucket, row: Row, time: DateTime, rules: BucketRules): Reason | undefined {
    const { grown } = open;
    const { version } = this.state;
    const first = grown.min.get(rules.series.timeField);
    const span = BigInt(rules.series.maxSpan_seconds) * 1000n;
    if (!(first instanceof DateTime) || time.ms < first.ms || time.ms - first.ms >= span) return 'time';
    if (grown.count >= measurementsMax) return 'count';
    const grownBytes = open.bytes + row.bytes;
    const isLarge = version.atLeast(6, 0) && grown.count < largeMeasurementsMin;
    if (grown.count > 0 && grownBytes > (isLarge ? largeBytesMax : bytesMax)) return 'size';
    return version.atLeast(6, 0) && changesSchema(grown, row.measurement, rules) ? 'schema' : undefined;
  }

  /** From 5.2 to 7.x a bucket is compressed when it closes. 7.0 lets those of other times take measurements later. */
  #compresses(reason: Reason): boolean {
    const { version } = this.state;
    if (!version.atLeast(6, 0) || version.atLeast(8, 0)) return false;
    return reason !== 'time' || !version.atLeast(7, 0);
  }

  /** A stored bucket that can take the measurement, where an index finds it (since 6.3). */
  #reopened(
    collection: Collection,
    rules: BucketRules,
    { key, meta, row, time }: { key: string; meta: Value | undefined; row: Row; time: DateTime },
  ): OpenBucket | undefined {
    const { version } = this.state;
    const first = firstTimePath(rules.series);
    if (!version.atLeast(7, 0) || !findsBuckets(collection, meta, first)) return undefined;
    const earliest = new DateTime(time.ms - BigInt(rules.series.maxSpan_seconds) * 1000n);
    const filter = doc(
      ['meta', meta === undefined ? doc(['$exists', false]) : doc(['$eq', meta])],
      [first, doc(['$lte', time], ['$gt', earliest])],
      ['control.closed', doc(['$ne', true])],
    );
    const search = { hint: undefined, sort: undefined, collation: undefined, variables: { version } };
    const found = [...matchedRecords(collection, filter, NOW, search)]
      .filter(({ record, bytes }) => !heldByAnother(record, null) && this.#owns(collection, bytes))
      .flatMap(({ bytes }) => readable(bytes, rules))
      // Null in a filter finds what is missing, too.
      .filter((found) => found.hasMeta === (meta !== undefined))
      .filter(({ open }) => this.#reasonAgainst(open(key), row, time, rules) === undefined)
      .sort((a, b) => compareValues(b.first, a.first));
    return found[0]?.open(key);
  }

  /**
   * Stores what waits in a bucket: with an insert, or with an update of what is stored.
   * @throws HeldByTransaction, and CommandError while users' writes are blocked
   */
  store(collection: Collection, rules: BucketRules, open: OpenBucket): void {
    if (open.waiting.length === 0) return;
    const { state } = this;
    const before = open.stored === undefined ? undefined : this.#storedNow(collection, open.bucket);
    if (before !== undefined && before !== open.stored) this.#startAnew(open, rules);
    const rows = this.#inOrder(open.waiting, rules);
    const record = open.stored === undefined ? null : collection.recordById(open.bucket.id, NOW);
    if (record === null || open.stored === undefined) {
      const next = extended(open.bucket, rows, rules);
      state.writer.insert(collection, encodeDocument(bucketDocument(next)), null);
      this.#settle(collection, open, next);
    } else if (state.version.atLeast(8, 0) && open.bucket.version === 1) {
      const whole = compressed(open.bucket, rules, state.version);
      const bytes = encodeDocument(bucketDocument(whole));
      state.writer.update(collection, record, open.stored, bytes, BY_REPLACEMENT, null);
      open.bucket = whole;
      open.document = undefined;
      open.stored = this.#storedNow(collection, whole) ?? undefined;
      this.#extend(collection, rules, open, rows);
    } else this.#extend(collection, rules, open, rows);
    this.#compressClosed(collection, rules, open);
  }

  #extend(collection: Collection, rules: BucketRules, open: OpenBucket, rows: readonly Doc[]): void {
    const { version, writer } = this.state;
    const record = collection.recordById(open.bucket.id, NOW);
    const { stored } = open;
    if (record === null || stored === undefined) return;
    const isUnpacked = !version.atLeast(8, 0) && open.bucket.version > 1;
    const base: Bucket = isUnpacked ? { ...open.bucket, version: 1 } : open.bucket;
    const before = { bucket: base, document: open.document ?? decodeDocument(stored) };
    const bucket = extended(base, rows, rules);
    const document = bucketDocument(bucket);
    const diff = isUnpacked ? undefined : bucketDiff(before, { bucket, document });
    const origin = isUnpacked ? BY_REPLACEMENT : { operators: undefined, replacement: false, diff, byId: true };
    open.document = undefined;
    writer.update(collection, record, stored, encodeDocument(document), origin, null);
    open.document = document;
    this.#settle(collection, open, bucket);
  }

  /** Notes what a write has left of a bucket. */
  #settle(collection: Collection, open: OpenBucket, bucket: Bucket): void {
    for (const row of open.waiting) row.stored = true;
    open.waiting = [];
    open.bucket = bucket;
    open.grown = bucket;
    open.stored = this.#storedNow(collection, bucket) ?? undefined;
  }

  /** Somebody else has changed the stored bucket: what waits goes into a new one. */
  #startAnew(open: OpenBucket, { series }: BucketRules): void {
    const [first] = open.waiting;
    const time = first?.measurement.get(series.timeField);
    if (!(time instanceof DateTime)) return;
    const rules = { series, collation: undefined };
    open.bucket = emptyBucket(rules, time, open.bucket.meta, this.state.version);
    open.document = undefined;
    open.stored = undefined;
  }

  /** 8.0 stores the measurements of one write in the order of time. */
  #inOrder(rows: readonly Row[], { series }: BucketRules): Doc[] {
    const measurements = rows.map(({ measurement }) => measurement);
    if (!this.state.version.atLeast(8, 0)) return measurements;
    const timeIn = (each: Doc): Value => each.get(series.timeField) ?? null;
    return measurements.sort((a, b) => compareValues(timeIn(a), timeIn(b)));
  }

  /**
   * Stores what waits in several new buckets with one entry, as 8.0 does for an ordered command.
   * @returns whether they are stored
   */
  storeTogether(collection: Collection, rules: BucketRules, all: readonly OpenBucket[]): boolean {
    if (!this.state.version.atLeast(8, 0) || all.length < 2 || all.some(({ stored }) => stored !== undefined))
      return false;
    const grown = all.map((open) => extended(open.bucket, this.#inOrder(open.waiting, rules), rules));
    const documents = grown.map((bucket) => encodeDocument(bucketDocument(bucket)));
    if (!this.state.writer.insertTogether(collection, documents)) return false;
    for (const [at, open] of all.entries()) {
      this.#settle(collection, open, grown[at] ?? open.bucket);
    }
    return true;
  }

  #compressClosed(collection: Collection, rules: BucketRules, open: OpenBucket): void {
    const { closes } = open;
    open.closes = undefined;
    const stored = closes?.stored;
    if (closes === undefined || stored === undefined || closes.bucket.version > 1) return;
    const record = collection.recordById(closes.bucket.id, NOW);
    if (record === null || this.#storedNow(collection, closes.bucket) !== stored || heldByAnother(record, null)) return;
    const bytes = encodeDocument(bucketDocument(compressed(closes.bucket, rules, this.state.version)));
    this.state.writer.update(collection, record, stored, bytes, BY_REPLACEMENT, null);
  }
}

/** Whether an index begins with the metadata and the first time. */
function findsBuckets({ secondaryIndexes }: Collection, meta: Value | undefined, first: string): boolean {
  const leading = meta === undefined ? [[first], ['meta', first]] : [['meta', first]];
  return secondaryIndexes.some(({ definition: { fields, built, holds } }) =>
    leading.some((paths) => built && holds === undefined && paths.every((path, at) => fields[at]?.path === path)),
  );
}

interface Found {
  readonly first: Value;
  readonly hasMeta: boolean;
  readonly open: (key: string) => OpenBucket;
}

/** A stored bucket, unless its columns cannot be read. */
function readable(bytes: Uint8Array, { series }: BucketRules): Found[] {
  try {
    const bucket = readBucket(decodeDocument(bytes), series);
    const first = bucket.min.get(series.timeField) ?? null;
    return [
      { first, hasMeta: bucket.meta !== undefined, open: (key) => new OpenBucket(key, bucket, bytes, bytes.length) },
    ];
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return [];
  }
}
