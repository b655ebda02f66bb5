import { decodeDocument } from '../../bson/decode.js';
import { DateTime, type Doc, type Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import type { SeriesOptions } from './series-options.js';

/** One document of a time-series collection, taken apart. */
export interface Measurement {
  readonly timeMs: bigint;
  readonly meta: Value | undefined;
  /** All fields but the metadata, `_id` first. */
  readonly fields: Doc;
}

/** Takes a document apart. Throws CommandError 2 when its time is missing or no date. */
export function readMeasurement(document: Uint8Array, { timeField, metaField }: SeriesOptions): Measurement {
  const fields = decodeDocument(document);
  const time = fields.get(timeField);
  if (!(time instanceof DateTime)) {
    throw new CommandError(2, 'BadValue', `'${timeField}' must be present and contain a valid BSON UTC datetime value`);
  }
  const meta = metaField === undefined ? undefined : fields.get(metaField);
  if (metaField !== undefined) fields.delete(metaField);
  return { timeMs: time.ms, meta, fields };
}
