import { Double, Int32 } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';
import { documentText } from '../../bson/text.js';
import { typeName } from '../../bson/type-of.js';
import { refuseFields, refuseOptions, refuseUnbuildable } from './option-rules.js';
import { completeCollation } from '../collation-spec.js';

/** Options that mean nothing when false, which the server does not keep. */
const FALSE_IS_ABSENT: ReadonlySet<string> = new Set(['unique', 'hidden', 'prepareUnique']);
/** The only version of indexes since MongoDB 3.4. */
const INDEX_VERSION = 2;

/**
 * Completes a requested index description to what `listIndexes` shows.
 * @param requested one element of `createIndexes.indexes`
 * @param collectionCollation inherited when the index names none
 * @param expiryMax seconds that `expireAfterSeconds` may be at most
 * Throws CommandError 67 for keys and options no index may have.
 */
export function normalizedSpec(requested: Doc, collectionCollation: Doc | undefined, expiryMax: number): Doc {
  refuseInvalid(requested, expiryMax);
  const key = requested.get('key') as Doc;
  const spec: Doc = new Map<string, Value>([
    ['v', new Int32(INDEX_VERSION)],
    ['key', key],
    ['name', requested.get('name') ?? defaultName(key)],
  ]);
  for (const [option, value] of requested) {
    if (option === 'ns' || spec.has(option) || (FALSE_IS_ABSENT.has(option) && !isTrue(value))) continue;
    spec.set(option, option === 'expireAfterSeconds' && value instanceof Double ? new Int32(Math.trunc(value.value)) : value);
  }
  completeText(spec, key);
  completeGeo(spec, key);
  completeWildcard(spec);
  completeIndexCollation(spec, collectionCollation, requested.has('v') ? requested : new Map([...requested, ['v', new Int32(INDEX_VERSION)]]));
  return spec;
}

function refuseInvalid(requested: Doc, expiryMax: number): void {
  refuseFields(requested);
  const key = requested.get('key');
  if (!(key instanceof Map)) return;
  const versioned: Doc = requested.has('v') ? requested : new Map([...requested, ['v', new Int32(INDEX_VERSION)]]);
  refuseOptions(versioned, key);
  const given = requested.get('expireAfterSeconds');
  const seconds = numberOf(given);
  if (given !== undefined && seconds === undefined) {
    const refusal = `TTL index 'expireAfterSeconds' option must be numeric, but received a type of '${typeName(given)}'`;
    throw new CommandError(67, 'CannotCreateIndex', `${refusal}. Index spec: ${documentText(requested)}`);
  }
  if (seconds !== undefined && (seconds < 0 || seconds > expiryMax)) {
    const range = seconds < 0 ? 'cannot be less than 0' : 'must be within an acceptable range, try a lower number';
    throw new CommandError(67, 'CannotCreateIndex', `TTL index 'expireAfterSeconds' option ${range}index spec: ${documentText(requested)}`);
  }
  if (seconds !== undefined && key.size > 1) {
    const rule = 'TTL indexes are single-field indexes, compound indexes do not support TTL';
    throw new CommandError(67, 'CannotCreateIndex', `${rule}. Index spec: ${documentText(requested)}`);
  }
  refuseUnbuildable(versioned, key);
}

/** `a_1_b_-1`, as drivers name indexes. */
export function defaultName(key: Doc): string {
  return [...key].map(([path, order]) => `${path}_${typeof order === 'string' ? order : String(numberOf(order) ?? '')}`).join('_');
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

/** A wildcard projection is kept with booleans, and leaves `_id` out unless it names it. */
function completeWildcard(spec: Doc): void {
  const projection = spec.get('wildcardProjection');
  if (!(projection instanceof Map)) return;
  const kept: Doc = new Map([...projection].map(([path, value]) => [path, isTrue(value)]));
  if (!kept.has('_id')) kept.set('_id', false);
  spec.set('wildcardProjection', kept);
}

function completeIndexCollation(spec: Doc, collectionCollation: Doc | undefined, versioned: Doc): void {
  const own = spec.get('collation');
  spec.delete('collation');
  const collation = own instanceof Map ? completedFor(versioned, own) : collectionCollation;
  if (collation !== undefined) spec.set('collation', collation);
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
