import type { ShardedCollection } from '../../config/sharded-collection.js';
import { compareKeys } from '../../config/shard-key.js';
import { decodeValue } from '../../bson/decode.js';
import { ElementType } from '../../bson/element-type.js';
import { elementName, scanElements, scanPath, scanTopLevel } from '../../bson/scan.js';
import type { Value } from '../../bson/value.js';

/** Operators whose fields appear by name on the left side only. */
const operatorSign = 0x24;
const emptyDocumentBytes = 5;

/**
 * True when an update statement may change its document's shard key. Decides by the statement's bytes, and returns true
 * when unsure. A key of `_id` alone never changes: shards refuse that.
 */
export function mayChangeShardKey(collection: ShardedCollection, statement: Uint8Array): boolean {
  if (collection.key.fields.every((field) => field === '_id')) return false;
  return mayWriteKey(collection, statement, false);
}

/**
 * True when an upsert may insert a document under a shard key other than its filter's, `_id` included. Decides by the
 * statement's bytes, and returns true when unsure.
 */
export function mayInsertElsewhere(collection: ShardedCollection, statement: Uint8Array): boolean {
  return mayWriteKey(collection, statement, true);
}

function mayWriteKey(collection: ShardedCollection, statement: Uint8Array, inserting: boolean): boolean {
  const update = scanTopLevel(statement, 'u');
  if (update === undefined) return false;
  const bytes = statement.subarray(update.valueStart, update.end);
  if (update.type === ElementType.array) {
    const literal = literalReplacement(bytes);
    return literal === undefined || replacementDiffers(collection, statement, literal);
  }
  const isOperators = bytes.length > emptyDocumentBytes && bytes[5] === operatorSign;
  return isOperators
    ? operatorsTouchKey(collection.key.fields, bytes, inserting)
    : replacementDiffers(collection, statement, bytes);
}

/** The document of `[{$replaceWith: {$literal: document}}]`, undefined for any other pipeline. */
function literalReplacement(pipeline: Uint8Array): Uint8Array | undefined {
  const stages = [...scanElements(pipeline)];
  const [only] = stages;
  if (only?.type !== ElementType.document || stages.length !== 1) return undefined;
  const stage = pipeline.subarray(only.valueStart, only.end);
  const replace = scanTopLevel(stage, '$replaceWith');
  if (replace?.type !== ElementType.document) return undefined;
  const expression = stage.subarray(replace.valueStart, replace.end);
  const literal = scanTopLevel(expression, '$literal');
  return literal?.type === ElementType.document ? expression.subarray(literal.valueStart, literal.end) : undefined;
}

function replacementDiffers(collection: ShardedCollection, statement: Uint8Array, replacement: Uint8Array): boolean {
  const values = new Map<string, Value>();
  for (const field of collection.key.fields) {
    const value = filterField(statement, field);
    if (value === undefined || value instanceof Map) return true;
    values.set(field, value);
  }
  const key = collection.key.keyFrom(values);
  // The shard refuses an array: the document stays.
  if (collection.key.fields.some((name) => Array.isArray(scanPath(replacement, name)))) return false;
  return key === undefined || compareKeys(key, collection.key.keyOf(replacement)) !== 0;
}

/** A field of the filter, its name read as one piece or as a path. */
function filterField(statement: Uint8Array, field: string): Value | undefined {
  const filter = scanTopLevel(statement, 'q');
  if (filter === undefined) return undefined;
  const bytes = statement.subarray(filter.valueStart, filter.end);
  const element = scanTopLevel(bytes, field);
  return element === undefined ? scanPath(bytes, field) : decodeValue(bytes, element.type, element.valueStart);
}

function operatorsTouchKey(fields: readonly string[], update: Uint8Array, inserting: boolean): boolean {
  for (const operator of scanElements(update)) {
    if (operator.type !== ElementType.document || (!inserting && elementName(update, operator) === '$setOnInsert'))
      continue;
    const renames = elementName(update, operator) === '$rename';
    for (const path of scanElements(update, operator.valueStart)) {
      if (renames || fields.some((field) => related(field, elementName(update, path)))) return true;
    }
  }
  return false;
}

function related(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}.`) || b.startsWith(`${a}.`);
}
