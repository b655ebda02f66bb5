import { ObjectId } from 'bson';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { scanPath, scanTopLevel, withIdFirst } from '../../bson/scan.js';
import { decodeValue } from '../../bson/decode.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { isStorableKey } from '../../config/storable-key.js';
import { docOrEmpty, isTrue, numberOf } from '../../node/doc-fields.js';
import { documentText } from '../../bson/text.js';
import { equalityFields } from '../../query/bounds.js';
import { exactValues } from '../target/exact-values.js';
import { type QueryTarget, targetQuery } from '../target/query-targeting.js';
import { keyDocument, seriesOf } from '../target/series-targets.js';
import { unsimulated } from '../../node/unsimulated.js';
import type { TimeSeries } from '../../time-series/bucketing.js';
import { targetingFilter } from '../../time-series/translation.js';
import type { FindShard } from './shard-of-match.js';
import { mayChangeShardKey, mayInsertElsewhere } from './shard-key-change.js';
import { statementDocument, type WriteKind } from './write-statements.js';

/** A statement and the shards it goes to. */
export interface TargetedStatement {
  readonly bytes: Uint8Array;
  readonly shards: readonly string[];
  /** True for an update of one document that may give it another shard key. */
  readonly mayMove: boolean;
  /** True where the router has looked for the document, as the statement names no shard. */
  readonly isFound?: boolean;
}

/**
 * Finds the shards of one statement of a bulk write.
 * @param find looks for the document of a statement that names no shard; undefined refuses it
 * @param ofSeries whether the statement is about measurements, not about the buckets of the collection
 * @throws CommandError 61 or 72 when a statement for one document has no single target
 */
export function targetStatement(
  collection: ShardedCollection,
  kind: WriteKind,
  statement: Uint8Array,
  find?: FindShard,
  ofSeries = false,
): TargetedStatement {
  const series = ofSeries ? seriesOf(collection) : undefined;
  if (series !== undefined) return targetMeasurements(collection, series, kind, statement);
  if (kind === 'insert') return targetInsert(collection, statement);
  const filter = docOrEmpty(field(statement, 'q'));
  const target = targetQuery(collection, filter, field(statement, 'collation'));
  const found = find === undefined ? undefined : foundShard(collection, kind, statement, { filter, target, find });
  const shardsOf = kind === 'update' ? updateShards : deleteShards;
  const shards = found === undefined ? shardsOf(collection, statement, filter, target) : [found];
  const isSingle = kind === 'update' && !isTrue(field(statement, 'multi'));
  const inserts = kind === 'update' && isTrue(field(statement, 'upsert')) && mayInsertElsewhere(collection, statement);
  const mayMove = inserts || (isSingle && mayChangeShardKey(collection, statement));
  return { bytes: statement, shards, mayMove, isFound: found !== undefined };
}

/** Measurements go where their bucket is; what is said of many of them, to the shards of the metadata. */
function targetMeasurements(
  collection: ShardedCollection,
  series: TimeSeries,
  kind: WriteKind,
  statement: Uint8Array,
): TargetedStatement {
  if (kind === 'insert')
    return { bytes: statement, shards: [ownerOf(collection, keyDocument(series, statement))], mayMove: false };
  const filter = targetingFilter(series, docOrEmpty(field(statement, 'q')));
  const { shards } = targetQuery(collection, filter, field(statement, 'collation'));
  const isSingle = kind === 'update' ? !isTrue(field(statement, 'multi')) : numberOf(field(statement, 'limit')) === 1;
  if (isSingle && kind === 'delete' && shards.length > 1)
    throw unsimulated('the delete of one measurement that may lie on several shards');
  return { bytes: statement, shards: isSingle ? shards.slice(0, 1) : shards, mayMove: false };
}

function field(statement: Uint8Array, name: string): Value | undefined {
  const element = scanTopLevel(statement, name);
  return element === undefined ? undefined : decodeValue(statement, element.type, element.valueStart);
}

function targetInsert(collection: ShardedCollection, document: Uint8Array): TargetedStatement {
  const bytes = withIdFirst(document, () => new ObjectId());
  return { bytes, shards: [ownerOf(collection, bytes)], mayMove: false };
}

function updateShards(
  collection: ShardedCollection,
  statement: Uint8Array,
  filter: Doc,
  target: QueryTarget,
): readonly string[] {
  if (isTrue(field(statement, 'upsert')) && !target.exactKey) {
    throw new CommandError(
      61,
      'ShardKeyNotFound',
      'Failed to target upsert by query :: could not extract exact shard key',
    );
  }
  if (target.shards.length <= 1 || isTrue(field(statement, 'multi'))) return target.shards;
  const replacement = replacementOf(statement);
  if (replacement !== undefined) return [replacementOwner(collection, replacement)];
  if (hasExactId(filter)) return target.shards;
  const request = documentText(updateRequest(statementDocument(statement)));
  throw new CommandError(
    72,
    'InvalidOptions',
    'A {multi:false} update on a sharded collection must contain an exact match on _id (and have the ' +
      'collection default collation) ' +
      'or target a single shard (and have the simple collation), but this update targeted ' +
      `${target.shards.length} shards. ` +
      `Update request: ${request}, shard key pattern: ${documentText(collection.key.doc)}`,
  );
}

/** An update as a router shows it: with its defaults. */
function updateRequest(statement: Doc): Doc {
  const shownAfter = new Set(['q', 'u', 'multi', 'upsert', 'collation']);
  const rest = [...statement].filter(([name]) => !shownAfter.has(name));
  const collation = [...statement].filter(([name]) => name === 'collation');
  return new Map<string, Value>([
    ['q', statement.get('q') ?? null],
    ['u', statement.get('u') ?? null],
    ...rest,
    ['multi', false],
    ['upsert', isTrue(statement.get('upsert'))],
    ...collation,
  ]);
}

/** The replacement document's bytes when the update replaces the whole document. */
function replacementOf(statement: Uint8Array): Uint8Array | undefined {
  const element = scanTopLevel(statement, 'u');
  if (element?.type !== 3) return undefined;
  const document = statement.subarray(element.valueStart, element.end);
  const emptyBytes = 5;
  const operatorSign = 0x24;
  return document.length > emptyBytes && document[5] === operatorSign ? undefined : document;
}

/** @throws CommandError 61 for a replacement without a shard key, or with MaxKey alone */
function replacementOwner(collection: ShardedCollection, replacement: Uint8Array): string {
  if (collection.key.fields.some((name) => Array.isArray(scanPath(replacement, name)))) {
    throw new CommandError(
      61,
      'ShardKeyNotFound',
      'Failed to target update by replacement document :: could not extract exact shard key',
    );
  }
  return ownerOf(collection, replacement);
}

/** @throws CommandError 61 for a document whose key is MaxKey alone */
function ownerOf({ chunks, key, namespace }: ShardedCollection, document: Uint8Array): string {
  return chunks.ownerOf(key.keyOf(document), { key, namespace });
}

function deleteShards(
  collection: ShardedCollection,
  statement: Uint8Array,
  filter: Doc,
  target: QueryTarget,
): readonly string[] {
  if (target.exactKey || numberOf(field(statement, 'limit')) !== 1 || hasExactId(filter)) return target.shards;
  throw new CommandError(
    61,
    'ShardKeyNotFound',
    'A single delete on a sharded collection must contain an exact match on _id (and have the collection ' +
      'default collation) ' +
      'or contain the shard key (and have the simple collation). Delete request: ' +
      `${documentText(statementDocument(statement))}, ` +
      `shard key pattern: ${documentText(collection.key.doc)}`,
  );
}

interface Search {
  readonly filter: Doc;
  readonly target: QueryTarget;
  readonly find: FindShard;
}

/**
 * The shard of the document that a statement for one document changes, where the statement names no shard. An exact
 * `_id` without an upsert goes to all shards instead. Undefined where there is nothing to look for. The order of an
 * update's `sort` does not reach over shards (seen on 8.0.10).
 */
function foundShard(
  collection: ShardedCollection,
  kind: WriteKind,
  statement: Uint8Array,
  { filter, target, find }: Search,
): string | undefined {
  const isSingle = kind === 'update' ? !isTrue(field(statement, 'multi')) : numberOf(field(statement, 'limit')) === 1;
  const isExact = hasExactId(filter) && !isTrue(field(statement, 'upsert'));
  if (!isSingle || target.exactKey || isExact) return undefined;
  return find(collection, { filter, sort: undefined, collation: field(statement, 'collation') }, target.shards);
}

function hasExactId(filter: Doc): boolean {
  const id = exactValues(equalityFields(filter), ['_id'])?.get('_id');
  return id !== undefined && !Array.isArray(id) && isStorableKey(id);
}
