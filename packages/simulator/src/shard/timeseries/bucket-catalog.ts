import { encodeDocument } from '../../bson/encode.js';
import type { Value } from '../../bson/value.js';
import type { Collection } from '../storage/collection.js';
import { visibleBytes } from '../storage/record.js';
import { LATEST } from '../storage/time-key.js';
import type { DocumentWriter, UpdateOrigin } from '../write/document-writer.js';
import type { Measurement } from './measurement.js';
import { OpenBucket } from './open-bucket.js';
import type { SeriesOptions } from './series-options.js';

/** Open buckets of all collections at most; beyond it the oldest are closed. */
const OPEN_BUCKETS_MAX = 100_000;
const COLUMNS_APPENDED: UpdateOrigin = { operators: undefined, replacement: false };
const NOW = { time: LATEST, transaction: null };

/** The buckets that still take measurements: one for each collection and metadata. */
export class BucketCatalog {
  readonly #open = new Map<string, OpenBucket>();

  /** Puts a measurement into its bucket; the bucket is not stored yet. */
  assign(buckets: Collection, options: SeriesOptions, measurement: Measurement): OpenBucket {
    const key = `${buckets.uuid.toString('hex')}${metaKey(measurement.meta)}`;
    let bucket = this.#open.get(key);
    if (bucket?.takes(measurement) !== true || isOvertaken(bucket)) {
      bucket = new OpenBucket(options, measurement.meta, measurement.timeMs);
      this.#keep(key, bucket);
    }
    bucket.add(measurement);
    return bucket;
  }

  #keep(key: string, bucket: OpenBucket): void {
    this.#open.delete(key);
    this.#open.set(key, bucket);
    const [oldest] = this.#open.keys();
    if (oldest !== undefined && this.#open.size > OPEN_BUCKETS_MAX) this.#open.delete(oldest);
  }
}

/** Stores a bucket as it is now: inserts it, or brings the stored one up to date. */
export function storeBucket(writer: DocumentWriter, buckets: Collection, bucket: OpenBucket): void {
  const bytes = bucket.encode();
  const { stored } = bucket;
  if (stored === null) {
    writer.insert(buckets, bytes, null);
    const record = buckets.recordById(bucket.id, NOW);
    if (record !== null) bucket.stored = { record, bytes };
    return;
  }
  writer.update(buckets, stored.record, stored.bytes, bytes, COLUMNS_APPENDED, null);
  bucket.stored = { record: stored.record, bytes };
}

/** True when somebody has changed or removed the stored bucket meanwhile. */
function isOvertaken({ stored }: OpenBucket): boolean {
  return stored !== null && visibleBytes(stored.record, NOW) !== stored.bytes;
}

/** Metadata that differ only in the order of fields share a bucket. */
function metaKey(meta: Value | undefined): string {
  return meta === undefined ? '' : encodeDocument(new Map([['', sortedFields(meta)]])).toString('latin1');
}

function sortedFields(value: Value): Value {
  if (Array.isArray(value)) return value.map(sortedFields);
  if (!(value instanceof Map)) return value;
  return new Map([...value].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, inner]) => [name, sortedFields(inner)]));
}
