import type { Warning } from '@convoy/api/contract/progress';
import type { Document } from 'mongodb';
import { canonicalText } from './canonical-text.js';
import { portableCollation } from './collection-options.js';

/** Attributes of an index that every supported server takes in `createIndexes`. */
const PORTABLE_ATTRIBUTES: ReadonlySet<string> = new Set([
  'key', 'name', 'unique', 'sparse', 'hidden', 'prepareUnique', 'partialFilterExpression', 'expireAfterSeconds', 'collation',
  'wildcardProjection', 'weights', 'default_language', 'language_override', 'textIndexVersion', '2dsphereIndexVersion',
  'bits', 'min', 'max', 'bucketSize',
]);

/** Attributes that are there when true and say nothing otherwise. */
const FLAGS: ReadonlySet<string> = new Set(['unique', 'sparse', 'hidden', 'prepareUnique']);

/** Attributes that old servers show and that no longer say anything. */
const SILENT_ATTRIBUTES: ReadonlySet<string> = new Set(['v', 'ns', 'background', 'dropDups', 'safe', 'clustered']);

/** The index types that servers of 5.0 and later can build; `geoHaystack` ended with 4.4. */
const INDEX_TYPES: ReadonlySet<unknown> = new Set(['text', 'hashed', '2d', '2dsphere', 'columnstore']);

/** Attributes by which the server tells indexes on one collection apart. */
const SIGNATURE_ATTRIBUTES: ReadonlySet<string> = new Set([
  'key', 'collation', 'partialFilterExpression', 'sparse', 'unique', 'wildcardProjection',
]);

/** What `collMod` takes and the TTL monitor never reaches: the greatest 32-bit number of seconds (recorded, 15-attributes). */
export const TTL_OFF_SECONDS = 2_147_483_647;

/** Current version of index specifications; servers turn 0 and 1 into 2 when an index is built anew. */
const INDEX_VERSION = 2;

/** Whether this is the index on `_id` that every collection has by itself. */
export function isIdIndex(index: Document): boolean {
  return index.name === '_id_' || index.clustered === true;
}

/**
 * An index as the destination can hold it. Legacy directions (`true`, `0`, empty or unknown texts), which the server
 * took for ascending, become 1; attributes of the source's storage are left out.
 * @param namespace only for the warnings
 */
export function portableIndex(namespace: string, index: Document): { index: Document; warnings: Warning[] } {
  const warnings: Warning[] = [];
  const warn = (name: string, what: string): void => {
    warnings.push({ name, description: `Index ${String(index.name)} of ${namespace} ${what}.` });
  };
  const attributes = Object.entries(index) as [string, unknown][];
  const kept = attributes.filter(([attribute, value]) => PORTABLE_ATTRIBUTES.has(attribute) && !isUnsetFlag(attribute, value));
  const portable: Document = Object.fromEntries(kept.map(([attribute, value]) => [attribute, FLAGS.has(attribute) ? true : value]));
  const dropped = attributes.map(([attribute]) => attribute).filter((attribute) => !PORTABLE_ATTRIBUTES.has(attribute) && !SILENT_ATTRIBUTES.has(attribute));
  if (dropped.length > 0) warn('indexAttributeDropped', `is built without ${dropped.join(', ')}`);
  if (typeof index.v === 'number' && index.v < INDEX_VERSION) warn('indexVersionRaised', `has version ${index.v} and is built with version ${INDEX_VERSION}`);
  portable.key = portableKey(index.key as Document);
  if (!sameKey(portable.key as Document, index.key as Document)) warn('indexDirectionNormalised', 'has legacy directions, which are built as ascending');
  if ('collation' in portable) portable.collation = portableCollation(portable.collation as Document);
  if ('expireAfterSeconds' in portable) {
    portable.expireAfterSeconds = legalTtl(portable.expireAfterSeconds);
    if (portable.expireAfterSeconds !== index.expireAfterSeconds) warn('ttlNormalised', 'has an expireAfterSeconds that is no whole number in range');
  }
  return { index: portable, warnings };
}

/** Why the destination cannot hold an index in its source form, or null. */
export function indexObstacle(index: Document): string | null {
  const fields = Object.entries(index.key as Document);
  if (fields.some(([, value]) => value === 'geoHaystack')) return 'geoHaystack indexes ended with version 4.4';
  // Such names lose their place among the other fields in JavaScript's objects, so that the order could not be kept.
  if (fields.length > 1 && fields.some(([field]) => isArrayPosition(field))) return 'a field of a compound key is named by a whole number';
  return null;
}

/**
 * What tells two indexes on one collection apart for the server (5.0 and later): everything but name, TTL and visibility.
 * Indexes of equal signatures cannot stand side by side.
 */
export function indexSignature(index: Document): string {
  const parts = Object.entries(index).filter(([attribute]) => SIGNATURE_ATTRIBUTES.has(attribute));
  return canonicalText(Object.fromEntries(parts));
}

/**
 * The specification that builds an index. In a collection with a collation, an index that shows none has the simple
 * one, which has to be said; a TTL index that is switched off is built with the greatest legal value first.
 * @param now_seconds present time in seconds since 1970: a TTL must lie below it
 */
export function buildSpecification(index: Document, collectionCollation: unknown, now_seconds: number): Document {
  const specification: Document = { ...index, key: writtenKey(index) };
  if (collectionCollation !== undefined && specification.collation === undefined) specification.collation = { locale: 'simple' };
  if (specification.expireAfterSeconds === TTL_OFF_SECONDS) {
    specification.expireAfterSeconds = Math.floor(now_seconds) - TTL_MARGIN_SECONDS;
  }
  return specification;
}

/**
 * The key as one writes it. `listIndexes` shows the text fields of a text index as `_fts` and `_ftsx`, and names them
 * only in `weights`.
 */
function writtenKey(index: Document): Document {
  const key = index.key as Document;
  const textFields = Object.keys((index.weights as Document | undefined) ?? {});
  // The shown form is legal too, and keeps its order where JavaScript's objects would not keep the written one.
  if (!('_fts' in key) || textFields.length === 0 || textFields.some(isArrayPosition)) return key;
  const fields = Object.entries(key).flatMap(([field, value]): [string, unknown][] => {
    if (field === '_ftsx') return [];
    return field === '_fts' ? textFields.map((textField) => [textField, 'text']) : [[field, value]];
  });
  return Object.fromEntries(fields);
}

/** Clocks of the cluster may be behind ours by less than this. */
const TTL_MARGIN_SECONDS = 86_400;

/** Whether two keys have the same fields with the same values in the same order. */
export function sameKey(a: Document, b: Document): boolean {
  const [fieldsA, fieldsB] = [Object.entries(a), Object.entries(b)];
  return fieldsA.length === fieldsB.length && isKeyPrefix(a, b);
}

/** Whether a key begins with the fields and values of another, in order. */
export function isKeyPrefix(prefix: Document, key: Document): boolean {
  const fields = Object.entries(key);
  return Object.entries(prefix).every(([field, value], position) => {
    const other = fields[position];
    return other !== undefined && other[0] === field && other[1] === value;
  });
}

function portableKey(key: Document): Document {
  return Object.fromEntries(Object.entries(key).map(([field, value]) => [field, portableDirection(value)]));
}

function portableDirection(value: unknown): unknown {
  if (typeof value === 'number') return value === 0 || Number.isNaN(value) ? 1 : value;
  return INDEX_TYPES.has(value) ? value : 1;
}

/** Old servers kept flags as they were written: numbers, and `false` spelled out. */
function isUnsetFlag(attribute: string, value: unknown): boolean {
  return FLAGS.has(attribute) && (value === false || value === 0 || value === null);
}

function legalTtl(value: unknown): number {
  const seconds = Math.floor(Number(value));
  return Number.isFinite(seconds) && seconds >= 0 && seconds <= TTL_OFF_SECONDS ? seconds : TTL_OFF_SECONDS;
}

function isArrayPosition(field: string): boolean {
  return /^(?:0|[1-9]\d*)$/.test(field);
}
