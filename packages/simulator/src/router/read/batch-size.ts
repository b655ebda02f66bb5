import { encodeDocument } from '../../bson/encode.js';
import { RawDocument, type Value } from '../../bson/value.js';

/** Documents of a first batch without a given number (server default). */
export const firstBatchDefault = 101;
/** Bytes of documents in one batch: the largest document, as on the server. */
export const batchBytesMax = 16_777_216;

/** Collects documents up to the limits of one batch. Always takes the first one. */
export class BatchBuilder {
  readonly documents: Value[] = [];
  #bytes = 0;

  constructor(private readonly documentsMax: number) {}

  /** @returns false when the document does not fit any more */
  add(document: Value): boolean {
    if (this.documents.length >= this.documentsMax) return false;
    const bytes = sizeOf(document);
    if (this.documents.length > 0 && this.#bytes + bytes > batchBytesMax) return false;
    this.documents.push(document);
    this.#bytes += bytes;
    return true;
  }

  get full(): boolean {
    return this.documents.length >= this.documentsMax;
  }
}

function sizeOf(document: Value): number {
  if (document instanceof RawDocument) return document.bytes.length;
  return document instanceof Map ? encodeDocument(document).length : 0;
}
