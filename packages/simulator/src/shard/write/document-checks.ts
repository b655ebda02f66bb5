import { ElementType } from '../../bson/element-type.js';
import { decodeFields, elementName, scanElements, scanTopLevel } from '../../bson/scan.js';
import { encodeDocument } from '../../bson/encode.js';
import { CommandError } from '../../node/command.js';
import { valueText } from '../../bson/text.js';
import { hasMixedSchema } from '../../time-series/bucket.js';
import { documentBytesMax, documentTooLarge } from '../../wire/document-check.js';
import { documentKeyFrom } from '../oplog/document-key.js';
import type { Collection } from '../storage/collection.js';

/**
 * Refuses values that may not be an `_id`: arrays, regular expressions, undefined, documents with `$` fields that do
 * not begin with a reference (server source: storageValidEmbedded).
 */
export function refuseInvalidId(document: Uint8Array): void {
  const id = scanTopLevel(document, '_id');
  if (id === undefined) return;
  switch (id.type) {
    case ElementType.array:
      throw invalidId('array');
    case ElementType.regex:
      throw invalidId('regex');
    case ElementType.undefined:
      throw invalidId('undefined');
    case ElementType.document:
      refuseDollars(document, id.valueStart);
      return;
    default:
  }
}

function refuseDollars(document: Uint8Array, start: number): void {
  const fields = [...scanElements(document, start)].map((element) => ({
    name: elementName(document, element),
    isText: element.type === ElementType.string,
  }));
  const [first, second, third] = fields;
  const isReference = first?.name === '$ref' && first.isText && second?.name === '$id';
  const length = isReference ? (third?.name === '$db' && third.isText ? 3 : 2) : 0;
  for (const { name } of fields.slice(length)) refuseDollar(name);
}

function refuseDollar(name: string): void {
  if (!name.startsWith('$')) return;
  throw new CommandError(
    52,
    'DollarPrefixedFieldName',
    `_id fields may not contain '$'-prefixed fields: ${name} is not valid for storage.`,
  );
}

function invalidId(type: string): CommandError {
  return new CommandError(53, 'InvalidIdField', `The '_id' value cannot be of type ${type}`);
}

/** Documents below this need no look at their key. */
const largeDocumentMin = 4 * 1024 * 1024;
/** Everything but the two documents in an entry, about. */
const entryBytes = 200;

/**
 * The entry of an insert holds the document and beside it the values of its shard key and `_id`.
 * @throws CommandError 10334 when no entry can hold both
 */
export function refuseTooLargeWithKey(document: Uint8Array, shardKey: readonly string[] | undefined): void {
  if (document.length < largeDocumentMin) return;
  const size = document.length + encodeDocument(documentKeyFrom(document, shardKey)).length + entryBytes;
  if (size > documentBytesMax) throw documentTooLarge(size);
}

const mixedSchema = 'timeseriesBucketsMayHaveMixedSchemaData';

/**
 * Since 5.2 a bucket with values of different types in a field is stored only where the collection may have such,
 * whether or not documents are validated (server source: timeseries_op_observer.cpp).
 * @throws CommandError 408
 */
export function refuseMixedSchema({ options, mixesSchemas }: Collection, document: Uint8Array): void {
  if (mixesSchemas || !options.has('timeseries') || !hasMixedSchema(decodeFields(document, ['control']))) return;
  if (valueText(options.get('storageEngine') ?? null).includes(`${mixedSchema}=true`)) return;
  throw new CommandError(
    408,
    'CannotInsertTimeseriesBucketsWithMixedSchema',
    'Cannot write time-series bucket containing mixed schema data, please run collMod with ' +
      `${mixedSchema} and retry your insert`,
  );
}
