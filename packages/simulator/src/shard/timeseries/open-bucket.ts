import { Int32, ObjectId } from 'bson';
import { encodeDocument, encodeValue } from '../../bson/encode.js';
import { DateTime, type Doc, type Value } from '../../bson/value.js';
import type { DocumentRecord } from '../storage/record.js';
import { extremeFields } from './extreme-values.js';
import type { Measurement } from './measurement.js';
import type { SeriesOptions } from './series-options.js';

/** Measurements of one bucket at most (server parameter `timeseriesBucketMaxCount`). */
const MEASUREMENTS_MAX = 1000;
/** Bytes of one bucket at most, about (server parameter `timeseriesBucketMaxSize`, 125 KB). */
const BUCKET_BYTES_MAX = 128_000;
/** What a new column adds to `control.min`, `control.max` and `data` beside its values. */
const COLUMN_OVERHEAD_BYTES = 20;
/** Form of the bucket: columns as documents with the rows' numbers as names. */
const BUCKET_VERSION = new Int32(1);

/** A bucket that still takes measurements. */
export class OpenBucket {
  readonly id: ObjectId;
  readonly #lowestMs: bigint;
  readonly #data = new Map<string, Doc>();
  #min: Doc = new Map();
  #max: Doc = new Map();
  #count = 0;
  #bytes = 0;
  /** The bucket as it was stored last; null before. */
  stored: { readonly record: DocumentRecord; readonly bytes: Uint8Array } | null = null;

  constructor(
    private readonly options: SeriesOptions,
    private readonly meta: Value | undefined,
    timeMs: bigint,
  ) {
    this.#lowestMs = timeMs - (((timeMs % options.roundingMs) + options.roundingMs) % options.roundingMs);
    this.id = bucketId(this.#lowestMs);
  }

  /** True when the measurement goes into this bucket and not into a new one. */
  takes(measurement: Measurement): boolean {
    const { timeMs } = measurement;
    if (this.#count >= MEASUREMENTS_MAX) return false;
    if (timeMs < this.#lowestMs || timeMs - this.#lowestMs >= this.options.spanMs) return false;
    return this.#bytes + this.#bytesOf(measurement.fields) <= BUCKET_BYTES_MAX;
  }

  add(measurement: Measurement): void {
    this.#bytes += this.#bytesOf(measurement.fields);
    const row = String(this.#count);
    for (const [name, value] of measurement.fields) {
      const column = this.#data.get(name);
      if (column === undefined) this.#data.set(name, new Map([[row, value]]));
      else column.set(row, value);
    }
    const { timeField } = this.options;
    const lowest = new Map(measurement.fields).set(timeField, new DateTime(this.#lowestMs));
    this.#min = this.#count === 0 ? lowest : extremeFields(this.#min, lowest, -1);
    this.#max = this.#count === 0 ? new Map(measurement.fields) : extremeFields(this.#max, measurement.fields, 1);
    this.#count += 1;
  }

  /** The bucket's document: `_id`, `control`, `meta` if there is any, `data`. */
  encode(): Uint8Array {
    const bucket: Doc = new Map<string, Value>([
      ['_id', this.id],
      [
        'control',
        new Map<string, Value>([
          ['version', BUCKET_VERSION],
          ['min', this.#min],
          ['max', this.#max],
        ]),
      ],
    ]);
    if (this.meta !== undefined) bucket.set('meta', this.meta);
    return encodeDocument(bucket.set('data', new Map(this.#data)));
  }

  #bytesOf(fields: Doc): number {
    const rowBytes = String(this.#count).length + 2;
    let bytes = 0;
    for (const [name, value] of fields) {
      const valueBytes = encodeValue(value).length;
      bytes += valueBytes + rowBytes;
      if (!this.#data.has(name)) bytes += 2 * valueBytes + 3 * name.length + COLUMN_OVERHEAD_BYTES;
    }
    return bytes;
  }
}

/** A random id whose first four bytes are the bucket's least time in seconds. */
function bucketId(lowestMs: bigint): ObjectId {
  const bytes = Buffer.from(new ObjectId().id);
  bytes.writeUInt32BE(Number(BigInt.asUintN(32, lowestMs / 1000n)));
  return new ObjectId(bytes);
}
