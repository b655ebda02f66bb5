import { elementType } from './element-type.js';
import { RawValue } from './scan.js';

/** Most statements of small documents fit without growing. */
const initialCapacity_bytes = 512;

/** Builds one BSON document from raw parts in one pass, without decoding them. */
export class DocumentBuilder {
  private buffer: Buffer;
  private length = 4;
  private readonly openedAt: number[] = [0];

  /** @param capacity_bytes expected size of the document; it grows by itself */
  constructor(capacity_bytes = initialCapacity_bytes) {
    this.buffer = Buffer.allocUnsafe(Math.max(capacity_bytes, 16));
  }

  raw(name: string, value: RawValue): this {
    return this.element(name, value.type, value.bytes);
  }

  document(name: string, bytes: Uint8Array): this {
    return this.element(name, elementType.document, bytes);
  }

  array(name: string, values: readonly RawValue[]): this {
    this.begin(name, elementType.array);
    values.forEach((value, index) => this.raw(String(index), value));
    return this.end();
  }

  string(name: string, value: string): this {
    const size = Buffer.byteLength(value) + 1;
    this.header(name, elementType.string, 4 + size);
    this.length = this.buffer.writeInt32LE(size, this.length);
    this.length += this.buffer.write(value, this.length, 'utf8');
    this.buffer[this.length++] = 0;
    return this;
  }

  int32(name: string, value: number): this {
    this.header(name, elementType.int32, 4);
    this.length = this.buffer.writeInt32LE(value, this.length);
    return this;
  }

  long(name: string, value: bigint): this {
    this.header(name, elementType.long, 8);
    this.length = this.buffer.writeBigInt64LE(value, this.length);
    return this;
  }

  bool(name: string, value: boolean): this {
    this.header(name, elementType.bool, 1);
    this.buffer[this.length++] = value ? 1 : 0;
    return this;
  }

  /** @param time seconds × 2^32 + increment */
  timestamp(name: string, time: bigint): this {
    this.header(name, elementType.timestamp, 8);
    this.length = this.buffer.writeBigUInt64LE(time, this.length);
    return this;
  }

  /** Opens an embedded document or array; what follows goes into it until `end`. */
  begin(name: string, type: typeof elementType.document | typeof elementType.array = elementType.document): this {
    this.header(name, type, 5);
    this.openedAt.push(this.length);
    this.length += 4;
    return this;
  }

  /** Closes what `begin` opened. */
  end(): this {
    const start = this.openedAt.pop();
    if (start === undefined) throw new Error('DocumentBuilder: end without begin');
    this.reserve(1);
    this.buffer[this.length++] = 0;
    this.buffer.writeInt32LE(this.length - start, start);
    return this;
  }

  /** Ends the document. The builder cannot be used afterwards. */
  finish(): Buffer {
    if (this.openedAt.length !== 1) throw new Error('DocumentBuilder: begin without end');
    this.end();
    return this.buffer.subarray(0, this.length);
  }

  private element(name: string, type: number, bytes: Uint8Array): this {
    this.header(name, type, bytes.length);
    this.buffer.set(bytes, this.length);
    this.length += bytes.length;
    return this;
  }

  private header(name: string, type: number, valueSize: number): void {
    this.reserve(2 + name.length * 3 + valueSize);
    this.buffer[this.length++] = type;
    this.length += this.buffer.write(name, this.length, 'utf8');
    this.buffer[this.length++] = 0;
  }

  private reserve(size: number): void {
    const needed = this.length + size + this.openedAt.length;
    if (needed <= this.buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.buffer.length * 2));
    this.buffer.copy(grown, 0, 0, this.length);
    this.buffer = grown;
  }
}

/** What a statement needs beside its parts: names, lengths and the collation. */
const statementOverhead_bytes = 128;

/** How a statement's filter compares strings. */
export interface StatementOptions {
  /** True adds `collation: {locale: "simple"}`, so that a collection's own collation cannot widen the filter. */
  simpleCollation?: boolean;
}

function withCollation(builder: DocumentBuilder, options: StatementOptions): Buffer {
  if (options.simpleCollation === true) builder.begin('collation').string('locale', 'simple').end();
  return builder.finish();
}

/**
 * `{q: filter, u: [{$replaceWith: {$literal: document}}], upsert: true}`: brings a document to exactly these bytes,
 * keeps `Timestamp(0,0)` and field names with dots and dollars, and inserts what is missing.
 */
export function replaceStatement(filter: Uint8Array, document: Uint8Array, options: StatementOptions = {}): Buffer {
  const builder = new DocumentBuilder(filter.length + document.length + statementOverhead_bytes)
    .document('q', filter)
    .begin('u', elementType.array)
    .begin('0')
    .begin('$replaceWith')
    .document('$literal', document)
    .end()
    .end()
    .end()
    .bool('upsert', true);
  return withCollation(builder, options);
}

/** `{q: filter, u: update}` with a ready-made update document or pipeline; never upserts. */
export function updateStatement(
  filter: Uint8Array,
  update: { document: Uint8Array } | { pipeline: Uint8Array },
  options: StatementOptions = {},
): Buffer {
  const bytes = 'document' in update ? update.document : update.pipeline;
  const builder = new DocumentBuilder(filter.length + bytes.length + statementOverhead_bytes).document('q', filter);
  if ('document' in update) builder.document('u', bytes);
  else builder.raw('u', new RawValue(elementType.array, bytes));
  return withCollation(builder, options);
}

/** `{q: filter, limit: 1}`. */
export function deleteStatement(filter: Uint8Array, options: StatementOptions = {}): Buffer {
  const builder = new DocumentBuilder(filter.length + statementOverhead_bytes).document('q', filter).int32('limit', 1);
  return withCollation(builder, options);
}
