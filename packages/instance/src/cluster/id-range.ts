import { type Document, MaxKey } from 'mongodb';
import { elementType } from '../bson/element-type.js';
import { losslessValue } from '../bson/sent-value.js';
import type { RawValue } from '../bson/scan.js';
import { matchingAll } from './reads.js';
import type { CallOptions, RawBatch, RawCursor } from './node-client.js';

/**
 * `_id`s in index order, from `min` (inclusive) to `max` (exclusive, or MaxKey inclusive); a missing bound means
 * unbounded.
 */
export interface IdBounds {
  min?: RawValue;
  max?: RawValue;
}

/** Opens a cursor by a find. */
export type OpenFind = (command: Document, options: CallOptions) => Promise<RawCursor>;

/**
 * Reads a range of a collection in `_id` order. Its bounds are index bounds, so no type is left out as in a filter's
 * comparisons. With `min` alone, servers omit the document whose `_id` is MaxKey (measured on 5.0.7): a second find
 * reads it.
 * @param command a find without sort and bounds
 * @throws as `open`, also from the cursor's `next`
 */
export async function openIdRange(
  open: OpenFind,
  command: Document,
  { min, max }: IdBounds,
  options: CallOptions,
): Promise<RawCursor> {
  const inOrder = { ...command, hint: { _id: 1 }, sort: { _id: 1 } };
  const last: OpenLast = (call) =>
    open(
      { ...inOrder, ...matchingAll(command.filter as Document | undefined, { _id: { $gte: new MaxKey() } }) },
      { ...options, ...call },
    );
  if (min?.type === elementType.maxKey) return last(options);
  const lower = min === undefined || min.type === elementType.minKey ? {} : { min: { _id: losslessValue(min) } };
  const upper = max === undefined || max.type === elementType.maxKey ? {} : { max: { _id: losslessValue(max) } };
  const cursor = await open({ ...inOrder, ...lower, ...upper }, options);
  return 'min' in lower && !('max' in upper) ? new ContinuedCursor(cursor, last) : cursor;
}

type OpenLast = (options: CallOptions) => Promise<RawCursor>;

/** A cursor, followed by another one after its end. */
class ContinuedCursor implements RawCursor {
  readonly first: RawBatch;
  #continued = false;

  constructor(
    private cursor: RawCursor,
    private readonly openLast: OpenLast,
  ) {
    this.first = cursor.first;
  }

  get open(): boolean {
    return this.cursor.open || !this.#continued;
  }

  async next(options: CallOptions): Promise<RawBatch> {
    if (this.cursor.open || this.#continued) return this.cursor.next(options);
    this.cursor = await this.openLast(options);
    this.#continued = true;
    return this.cursor.first;
  }

  async close(): Promise<void> {
    this.#continued = true;
    await this.cursor.close();
  }
}
