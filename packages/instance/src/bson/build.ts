import { hasZeroTimestamp } from './sent-value.js';
import { elementType } from './element-type.js';
import { bufferOf, type RawElement, RawValue } from './scan.js';
import { encodeUtf8 } from './utf8.js';

/** Most statements of small documents fit without growing. */
const initialCapacity_bytes = 512;
/** Below this size, copying byte by byte is faster than a native call. */
const nativeCopyMin_bytes = 32;

/** Builds BSON documents from raw parts in one pass, without decoding them. Consecutive documents share one buffer. */
export class DocumentBuilder {
  private buffer: Buffer;
  /** Where the current document starts. */
  private start = 0;
  private length = 4;
  private openedAt: number[] = [0];

  /** @param capacity_bytes expected size of the document; the buffer grows when needed */
  constructor(capacity_bytes = initialCapacity_bytes) {
    this.buffer = Buffer.allocUnsafe(Math.max(capacity_bytes, 16));
  }

  raw(name: string, value: RawValue): this {
    return this.element(name, value.type, value.bytes);
  }

  /** An embedded document, or an array if `type` says so. */
  document(
    name: string,
    bytes: Uint8Array,
    type: typeof elementType.document | typeof elementType.array = elementType.document,
  ): this {
    return this.element(name, type, bytes);
  }

  string(name: string, value: string): this {
    const bytes = encodeUtf8(value);
    this.header(name, elementType.string, 4 + bytes.length + 1);
    this.length = this.buffer.writeInt32LE(bytes.length + 1, this.length);
    this.bytes(bytes, 0, bytes.length);
    this.buffer[this.length++] = 0;
    return this;
  }

  int32(name: string, value: number): this {
    this.header(name, elementType.int32, 4);
    this.length = this.buffer.writeInt32LE(value, this.length);
    return this;
  }

  bool(name: string, value: boolean): this {
    this.header(name, elementType.bool, 1);
    this.buffer[this.length++] = value ? 1 : 0;
    return this;
  }

  /** Copies an element of another document under its own name. @param nameStart where its name starts */
  copied(source: Uint8Array, nameStart: number, { type, end }: RawElement): this {
    this.reserve(1 + end - nameStart);
    this.buffer[this.length++] = type;
    return this.bytes(source, nameStart, end);
  }

  /**
   * Copies an element of another document as `{$literal: value}`, under its own name.
   * @param nameStart where its name starts
   */
  copiedAsLiteral(source: Uint8Array, nameStart: number, { type, start, end }: RawElement): this {
    this.reserve(1 + start - nameStart + 4);
    this.buffer[this.length++] = elementType.document;
    this.bytes(source, nameStart, start);
    this.openedAt.push(this.length);
    this.length += 4;
    this.header('$literal', type, end - start);
    return this.bytes(source, start, end).end();
  }

  /** Opens an embedded document or array; the following elements go into it until `end`. */
  begin(name: string, type: typeof elementType.document | typeof elementType.array = elementType.document): this {
    this.header(name, type, 5);
    this.openedAt.push(this.length);
    this.length += 4;
    return this;
  }

  /** Closes what `begin` opened. */
  end(): this {
    if (this.openedAt.length === 1) throw new Error('DocumentBuilder: end without begin');
    return this.close();
  }

  /** Ends the document and starts the next one behind it. @returns the finished one, a view of the shared buffer */
  finish(): Buffer {
    if (this.openedAt.length !== 1) throw new Error('DocumentBuilder: begin without end');
    this.close();
    const finished = this.buffer.subarray(this.start, this.length);
    this.start = this.length;
    this.length += 4;
    this.openedAt = [this.start];
    return finished;
  }

  private element(name: string, type: number, bytes: Uint8Array): this {
    this.header(name, type, bytes.length);
    return this.bytes(bytes, 0, bytes.length);
  }

  private close(): this {
    this.reserve(1);
    const start = this.openedAt.pop() ?? this.start;
    this.buffer[this.length++] = 0;
    this.buffer.writeInt32LE(this.length - start, start);
    return this;
  }

  /** Copies bytes unchanged; the caller has reserved room for them. */
  private bytes(source: Uint8Array, start: number, end: number): this {
    if (end - start < nativeCopyMin_bytes)
      for (let at = start; at < end; at += 1) this.buffer[this.length++] = source[at] ?? 0;
    else {
      bufferOf(source).copy(this.buffer, this.length, start, end);
      this.length += end - start;
    }
    return this;
  }

  private header(name: string, type: number, valueSize: number): void {
    this.reserve(2 + name.length * 3 + valueSize);
    this.buffer[this.length++] = type;
    const nameStart = this.length;
    for (let index = 0; index < name.length; index += 1) {
      const code = name.charCodeAt(index);
      this.buffer[this.length++] = code;
      if (code <= 0x7f) continue;
      this.length = nameStart + encodeUtf8(name).copy(this.buffer, nameStart);
      break;
    }
    this.buffer[this.length++] = 0;
  }

  /** Finished documents stay in the old buffer; only the current one moves to a larger one. */
  private reserve(size: number): void {
    const needed = this.length + size + this.openedAt.length;
    if (needed <= this.buffer.length) return;
    const used = this.length - this.start;
    const grown = Buffer.allocUnsafe(
      Math.max(needed - this.start, this.start === 0 ? this.buffer.length * 2 : this.buffer.length),
    );
    this.buffer.copy(grown, 0, this.start, this.length);
    this.openedAt = this.openedAt.map((at) => at - this.start);
    this.start = 0;
    this.length = used;
    this.buffer = grown;
  }
}

/** Room for what a statement needs besides its parts: names, lengths and the collation. */
const statementOverhead_bytes = 128;

/** How a statement's filter compares strings. */
export interface StatementOptions {
  /** True adds `collation: {locale: "simple"}`, so that the collection's collation cannot widen the filter. */
  simpleCollation?: boolean;
  /** False: the statement does not insert a missing document. */
  upsert?: boolean;
  /** Appends the statement to this builder's buffer; by default the statement has its own buffer. */
  builder?: DocumentBuilder;
}

function builderFor(options: StatementOptions, capacity_bytes: number): DocumentBuilder {
  return options.builder ?? new DocumentBuilder(capacity_bytes + statementOverhead_bytes);
}

function withCollation(builder: DocumentBuilder, options: StatementOptions): Buffer {
  if (options.simpleCollation === true) builder.begin('collation').string('locale', 'simple').end();
  return builder.finish();
}

/** How a document is replaced. */
export interface ReplaceOptions extends StatementOptions {
  /**
   * The document is a bucket of a time series, and goes as a plain replacement (`{q, u: document, upsert}`). Servers
   * log a pipeline as a difference where that is shorter, and members take one of a time series without looking whether
   * a field is there already. A bucket has no field that a plain replacement would change but a `Timestamp(0,0)` as its
   * `meta`.
   */
  readonly isBucket?: boolean | undefined;
}

/**
 * `{q: filter, u: [{$replaceWith: {$literal: document}}], upsert: true}`: replaces a document with exactly these bytes.
 * Keeps `Timestamp(0,0)` and field names with dots and dollars. Inserts a missing document unless `upsert` is false.
 */
export function replaceStatement(filter: Uint8Array, document: Uint8Array, options: ReplaceOptions = {}): Buffer {
  const builder = builderFor(options, filter.length + document.length).document('q', filter);
  if (options.isBucket === true && !hasZeroTimestamp(document)) builder.document('u', document);
  else
    builder
      .begin('u', elementType.array)
      .begin('0')
      .begin('$replaceWith')
      .document('$literal', document)
      .end()
      .end()
      .end();
  builder.bool('upsert', options.upsert !== false);
  return withCollation(builder, options);
}

/**
 * `{q: filter, u: update}`, never an upsert. The update is a ready-made document or pipeline, or the caller writes the
 * field `u` now.
 */
export function updateStatement(
  filter: Uint8Array,
  update: { document: Uint8Array } | { pipeline: Uint8Array } | { write: (builder: DocumentBuilder) => void },
  options: StatementOptions = {},
): Buffer {
  const builder = builderFor(options, filter.length).document('q', filter);
  if ('document' in update) builder.document('u', update.document);
  else if ('pipeline' in update) builder.raw('u', new RawValue(elementType.array, update.pipeline));
  else update.write(builder);
  return withCollation(builder, options);
}

/** `{q: filter, limit: 1}`. */
export function deleteStatement(filter: Uint8Array, options: StatementOptions = {}): Buffer {
  return withCollation(builderFor(options, filter.length).document('q', filter).int32('limit', 1), options);
}
