import type { Warning } from '@convoy/api/contract/progress';
import type { Document } from 'mongodb';
import { RawValue } from '../bson/scan.js';
import { isWellFormed } from '../bson/utf8.js';
import { portableCollation } from './collection-options.js';
import { canonicalText, type KeyPattern, keyPattern, sameKey } from './namespace.js';

/** Servers refuse more indexes of one collection, that of `_id` included (67, CannotCreateIndex). */
export const indexesMax = 64;

/** Attributes of an index that every supported server takes in `createIndexes`. */
const PORTABLE_ATTRIBUTES: ReadonlySet<string> = new Set([
  'key',
  'name',
  'unique',
  'sparse',
  'hidden',
  'prepareUnique',
  'partialFilterExpression',
  'expireAfterSeconds',
  'collation',
  'wildcardProjection',
  'weights',
  'default_language',
  'language_override',
  'textIndexVersion',
  '2dsphereIndexVersion',
  'bits',
  'min',
  'max',
  'bucketSize',
  'originalSpec',
]);

/** Attributes that count only when they are true. */
const FLAGS: ReadonlySet<string> = new Set(['unique', 'sparse', 'hidden', 'prepareUnique']);

/** Attributes that old servers report and that no longer mean anything. */
const SILENT_ATTRIBUTES: ReadonlySet<string> = new Set(['v', 'ns', 'background', 'dropDups', 'safe', 'clustered']);

/** The index types that servers of 5.0 and later can build; `geoHaystack` ended with 4.4. */
const INDEX_TYPES: ReadonlySet<unknown> = new Set([
  'text',
  'hashed',
  '2d',
  '2dsphere',
  '2dsphere_bucket',
  'columnstore',
]);

/** Attributes by which the server tells indexes of one collection apart. */
const SIGNATURE_ATTRIBUTES: ReadonlySet<string> = new Set([
  'key',
  'collation',
  'partialFilterExpression',
  'sparse',
  'unique',
  'wildcardProjection',
]);

/**
 * `collMod` accepts this value and the TTL monitor never reaches it: the greatest 32-bit number of seconds (recorded,
 * 15-attributes).
 */
export const TTL_OFF_SECONDS = 2_147_483_647;

/** Current version of index specifications; servers build indexes of version 0 and 1 as version 2. */
const INDEX_VERSION = 2;

/** Whether this is the `_id` index, which every collection has. */
export function isIdIndex(index: Document): boolean {
  return index.name === '_id_' || index.clustered === true;
}

/**
 * An index in the form the destination can have. Legacy directions (`true`, `0`, empty or unknown texts), which the
 * server treated as ascending, become 1. Attributes of the source's storage are left out.
 * @param namespace only for the warnings
 */
export function portableIndex(namespace: string, index: Document): { index: Document; warnings: Warning[] } {
  const warnings: Warning[] = [];
  const warn = (name: string, what: string): void => {
    warnings.push({ name, description: `Index ${String(index.name)} of ${namespace} ${what}.` });
  };
  const attributes = Object.entries(index) as [string, unknown][];
  const kept = attributes.filter(
    ([attribute, value]) => PORTABLE_ATTRIBUTES.has(attribute) && !isUnsetFlag(attribute, value),
  );
  const portable: Document = Object.fromEntries(
    kept.map(([attribute, value]) => [attribute, FLAGS.has(attribute) ? true : value]),
  );
  const dropped = attributes
    .map(([attribute]) => attribute)
    .filter((attribute) => !PORTABLE_ATTRIBUTES.has(attribute) && !SILENT_ATTRIBUTES.has(attribute));
  if (dropped.length > 0) warn('indexAttributeDropped', `is built without ${dropped.join(', ')}`);
  if (typeof index.v === 'number' && index.v < INDEX_VERSION)
    warn('indexVersionRaised', `has version ${index.v} and is built with version ${INDEX_VERSION}`);
  portable.key = portableKey(keyPattern(index));
  if (!sameKey(keyPattern(portable), keyPattern(index)))
    warn('indexDirectionNormalised', 'has legacy directions, which are built as ascending');
  if ('collation' in portable) portable.collation = portableCollation(portable.collation as Document);
  if ('expireAfterSeconds' in portable) {
    portable.expireAfterSeconds = legalTtl(portable.expireAfterSeconds);
    if (portable.expireAfterSeconds !== index.expireAfterSeconds)
      warn('ttlNormalised', 'has an expireAfterSeconds that is not a valid integer');
  }
  return { index: portable, warnings };
}

/** The reason why the destination cannot have an index in its source form, or null. */
export function indexObstacle(index: Document): string | null {
  const fields = [...keyPattern(index)];
  if (fields.some(([, value]) => value === 'geoHaystack')) return 'geoHaystack indexes ended with version 4.4';
  if (!fields.every(([field]) => isWellFormed(field))) return 'a field name in its key is not valid UTF-8';
  if (Object.values(index).some((value) => value instanceof RawValue))
    return 'its filter holds a value that Convoy cannot send in a command';
  return null;
}

/**
 * What the server (5.0 and later) tells two indexes of one collection apart by: everything but name, TTL and
 * visibility. Two indexes with the same signature cannot coexist.
 */
export function indexSignature(index: Document): string {
  const parts = Object.entries(index).filter(([attribute]) => SIGNATURE_ATTRIBUTES.has(attribute));
  return canonicalText(Object.fromEntries(parts));
}

/**
 * The specification that builds an index. In a collection with a collation, an index that shows none has the simple
 * one, and the specification must say so. A disabled TTL index starts with the greatest legal value.
 * @param now_seconds current time in seconds since 1970: a TTL must be below it
 */
export function buildSpecification(index: Document, collectionCollation: unknown, now_seconds: number): Document {
  const specification: Document = { ...index, key: writtenKey(index) };
  if (collectionCollation !== undefined && specification.collation === undefined)
    specification.collation = { locale: 'simple' };
  if (specification.expireAfterSeconds === TTL_OFF_SECONDS) {
    specification.expireAfterSeconds = Math.floor(now_seconds) - TTL_MARGIN_SECONDS;
  }
  return specification;
}

/**
 * The key as a user writes it. `listIndexes` shows the text fields of a text index as `_fts` and `_ftsx`, and names
 * them only in `weights`.
 */
function writtenKey(index: Document): KeyPattern {
  const key = keyPattern(index);
  const textFields = [...((index.weights as KeyPattern | undefined) ?? new Map<string, unknown>()).keys()];
  if (!key.has('_fts') || textFields.length === 0) return key;
  const fields = [...key].flatMap(([field, value]): [string, unknown][] => {
    if (field === '_ftsx') return [];
    return field === '_fts' ? textFields.map((textField) => [textField, 'text']) : [[field, value]];
  });
  return new Map(fields);
}

/** The cluster's clocks may be behind ours by less than this. */
const TTL_MARGIN_SECONDS = 86_400;

function portableKey(key: KeyPattern): KeyPattern {
  return new Map([...key].map(([field, value]) => [field, portableDirection(value)]));
}

function portableDirection(value: unknown): unknown {
  if (typeof value === 'number') return value === 0 || Number.isNaN(value) ? 1 : value;
  return INDEX_TYPES.has(value) ? value : 1;
}

/** Old servers stored flags as the user wrote them: numbers, and `false` spelled out. */
function isUnsetFlag(attribute: string, value: unknown): boolean {
  return FLAGS.has(attribute) && (value === false || value === 0 || value === null);
}

function legalTtl(value: unknown): number {
  const seconds = Math.floor(Number(value));
  return Number.isFinite(seconds) && seconds >= 0 && seconds <= TTL_OFF_SECONDS ? seconds : TTL_OFF_SECONDS;
}
