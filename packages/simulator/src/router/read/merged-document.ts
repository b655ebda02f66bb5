import { Buffer } from 'node:buffer';
import { asBuffer } from '../../bson/element-type.js';
import { encodeDocument, encodeElement } from '../../bson/encode.js';
import { scanElements } from '../../bson/scan.js';
import { type Doc, RawDocument, type Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { documentBytesMax } from '../../wire/document-check.js';

const dollar = 0x24;
/** The field in which a shard sends them. */
const sortKeyName = '$sortKey';

/**
 * What a router makes of a document that several shards have sent for a merge by an order, or for a pipeline. It takes
 * the first top-level field whose name starts with `$` for the shards' metadata, and removes it (seen on 5.0.7; further
 * ones stay).
 */
export function withoutFirstDollarField(document: Value): Value {
  if (document instanceof Map) {
    const first = [...document.keys()].find((name) => name.startsWith('$'));
    return first === undefined ? document : new Map([...document].filter(([name]) => name !== first));
  }
  if (!(document instanceof RawDocument)) return document;
  const bytes = asBuffer(document.bytes);
  for (const { start, end } of scanElements(bytes)) {
    if (bytes[start + 1] !== dollar) continue;
    const whole = Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]);
    whole.writeInt32LE(whole.length, 0);
    return new RawDocument(whole);
  }
  return document;
}

/**
 * A shard sends the values that decide the order together with each document, in one document.
 * @throws CommandError 10334 when the two together exceed the limit of a document
 */
export function refuseTooLargeToOrder(document: Value, key: Doc): void {
  const bytes =
    document instanceof RawDocument
      ? document.bytes.length
      : document instanceof Map
        ? encodeDocument(document).length
        : 0;
  const beside = encodeElement(sortKeyName, [...key.values()]).length;
  if (bytes + beside <= documentBytesMax) return;
  const size = bytes + beside;
  const message =
    `BSONObj size: ${size} (0x${size.toString(16).toUpperCase()}) is invalid. Size must be between 0 and ` +
    `${documentBytesMax}(16MB)`;
  throw new CommandError(
    10334,
    'BSONObjectTooLarge',
    'Encountered non-retryable error during query :: caused by :: Executor error during find command :: caused ' +
      `by :: ${message}`,
  );
}
