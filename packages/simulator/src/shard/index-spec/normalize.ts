import { Double, Int32 } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import type { ServerVersion } from '../../node/server-version.js';
import { CommandError } from '../../node/command.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';
import { documentText } from '../../bson/text.js';
import { typeName } from '../../bson/type-of.js';
import { badValue } from '../../query/query-error.js';
import { refuseFields, refuseOptions } from './option-rules.js';
import { completeCollation } from '../collation-spec.js';

/** Not stored, or stored after all others. */
const LATE: ReadonlySet<string> = new Set(['ns', 'collation']);
/** Options that mean nothing when false, which the server does not store. */
const FALSE_IS_ABSENT: ReadonlySet<string> = new Set(['unique', 'hidden', 'prepareUnique']);
/** The only version of indexes since MongoDB 3.4. */
const INDEX_VERSION = 2;

/**
 * A requested index description with its version and its whole collation, as servers show it in refusals.
 * @param requested one element of `createIndexes.indexes`
 * @param collectionCollation default of the index
 * @throws CommandError 2 for an invalid collation, or for `_id` one that differs from the collection's
 */
export function resolvedSpec(requested: Doc, collectionCollation: Doc | undefined): Doc {
  const versioned: Doc = requested.has('v') ? requested : new Map([...requested, ['v', new Int32(INDEX_VERSION)]]);
  const own = requested.get('collation');
  const collation = own instanceof Map ? completedFor(versioned, own) : collectionCollation;
  const resolved: Doc = new Map([...versioned].filter(([name]) => name !== 'collation'));
  if (collation !== undefined) resolved.set('collation', collation);
  refuseOtherIdCollation(resolved, collectionCollation);
  return resolved;
}

function refuseOtherIdCollation(spec: Doc, ofCollection: Doc | undefined): void {
  const key = spec.get('key');
  if (!(key instanceof Map) || key.size !== 1 || numberOf(key.get('_id')) !== 1) return;
  const [own, wanted] = [spec.get('collation'), ofCollection].map((each) =>
    documentText(each instanceof Map ? each : new Map([['locale', 'simple']])),
  );
  if (own === wanted) return;
  throw badValue(
    `The _id index must have the same collation as the collection. Index collation: ${own ?? ''}, collection ` +
      `collation: ${wanted ?? ''}`,
  );
}

/** Completes an index description to its stored form. @param resolved with its version and its whole collation */
export function normalizedSpec(resolved: Doc, version: ServerVersion): Doc {
  const key = resolved.get('key') as Doc;
  const spec: Doc = new Map<string, Value>([
    ['v', new Int32(INDEX_VERSION)],
    ['key', key],
    ['name', resolved.get('name') ?? defaultName(key)],
  ]);
  for (const [option, value] of resolved) {
    if (LATE.has(option) || spec.has(option) || (FALSE_IS_ABSENT.has(option) && !isTrue(value))) continue;
    spec.set(option, value);
  }
  completeText(spec, key);
  completeGeo(spec, key);
  if (!version.atLeast(8, 0)) completeWildcard(spec);
  const collation = resolved.get('collation');
  if (collation !== undefined) spec.set('collation', collation);
  return spec;
}

/**
 * Refuses requested descriptions that are invalid by themselves.
 * @param expiryMax largest valid `expireAfterSeconds`
 * @throws CommandError 67 for keys and options no index may have
 */
export function refuseInvalidSpecs(requested: readonly Doc[], expiryMax: number): void {
  for (const each of requested) {
    refuseFields(each);
    refuseOptions(each.has('v') ? each : new Map([...each, ['v', new Int32(INDEX_VERSION)]]), each.get('key') as Doc);
  }
  for (const each of requested) refuseInvalidExpiry(each, each.get('key') as Doc, expiryMax);
}

function refuseInvalidExpiry(requested: Doc, key: Doc, expiryMax: number): void {
  const given = requested.get('expireAfterSeconds');
  const seconds = numberOf(given);
  if (given !== undefined && seconds === undefined) {
    const rule = "TTL index 'expireAfterSeconds' option must be numeric";
    const refusal = `${rule}, but received a type of '${typeName(given)}'`;
    throw new CommandError(67, 'CannotCreateIndex', `${refusal}. Index spec: ${documentText(requested)}`);
  }
  if (seconds !== undefined && (seconds < 0 || seconds > expiryMax)) {
    const range = seconds < 0 ? 'cannot be less than 0' : 'must be within an acceptable range, try a lower number';
    throw new CommandError(
      67,
      'CannotCreateIndex',
      `TTL index 'expireAfterSeconds' option ${range}index spec: ${documentText(requested)}`,
    );
  }
  // What expires by the time of measurements has an index over two times of buckets.
  if (seconds !== undefined && key.size > 1 && !requested.has('originalSpec')) {
    const rule = 'TTL indexes are single-field indexes, compound indexes do not support TTL';
    throw new CommandError(67, 'CannotCreateIndex', `${rule}. Index spec: ${documentText(requested)}`);
  }
}

/** `a_1_b_-1`, as drivers name indexes. */
export function defaultName(key: Doc): string {
  return [...key]
    .map(([path, order]) => `${path}_${typeof order === 'string' ? order : String(numberOf(order) ?? '')}`)
    .join('_');
}

function completeText(spec: Doc, key: Doc): void {
  const textFields = [...key].filter(([, order]) => order === 'text').map(([path]) => path);
  if (textFields.length === 0) return;
  const weights = spec.get('weights');
  const given = weights instanceof Map ? weights : new Map<string, Value>();
  const all = [...new Set([...textFields, ...given.keys()])].sort();
  const fts: Doc = new Map();
  for (const [path, order] of key) {
    if (order !== 'text') fts.set(path, order);
    else if (!fts.has('_fts')) fts.set('_fts', 'text').set('_ftsx', new Int32(1));
  }
  spec.set('key', fts);
  spec.set('weights', new Map(all.map((path) => [path, given.get(path) ?? new Int32(1)])));
  spec.set('default_language', spec.get('default_language') ?? 'english');
  spec.set('language_override', spec.get('language_override') ?? 'language');
  spec.set('textIndexVersion', spec.get('textIndexVersion') ?? new Int32(3));
}

function completeGeo(spec: Doc, key: Doc): void {
  const orders = [...key.values()];
  if (orders.includes('2dsphere')) spec.set('2dsphereIndexVersion', spec.get('2dsphereIndexVersion') ?? new Int32(3));
  if (!orders.includes('2d')) return;
  for (const bound of ['min', 'max']) {
    const value = numberOf(spec.get(bound));
    if (value !== undefined) spec.set(bound, new Double(value));
  }
}

/** Before 8.0 a wildcard projection is stored with booleans, and excludes `_id` unless it names it. */
function completeWildcard(spec: Doc): void {
  const projection = spec.get('wildcardProjection');
  if (!(projection instanceof Map)) return;
  const kept: Doc = new Map([...projection].map(([path, value]) => [path, isTrue(value)]));
  if (!kept.has('_id')) kept.set('_id', false);
  spec.set('wildcardProjection', kept);
}

function completedFor(versioned: Doc, collation: Doc): Doc | undefined {
  try {
    return completeCollation(collation);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const where = `failed to add collation information to index spec for index creation: ${documentText(versioned)}`;
    throw new CommandError(error.code, error.codeName, `${where} :: caused by :: ${error.message}`);
  }
}
