import { Double, Int32 } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';
import { documentText } from '../../bson/text.js';
import { typeName } from '../commands/command-context.js';
import { refuseOptions } from './option-rules.js';
import { completeCollation } from '../collation-spec.js';

/** Options that mean nothing when false, which the server does not keep. */
const FALSE_IS_ABSENT: ReadonlySet<string> = new Set(['unique', 'sparse', 'hidden', 'prepareUnique']);
/** Kinds of index that keys name by a text. */
const plugins: ReadonlySet<string> = new Set(['2d', '2dsphere', '2dsphere_bucket', 'geoHaystack', 'hashed', 'text', 'wildcard']);
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
    spec.set(option, value);
  }
  completeText(spec, key);
  completeGeo(spec, key);
  completeWildcard(spec);
  completeIndexCollation(spec, collectionCollation);
  return spec;
}

function refuseInvalid(requested: Doc, expiryMax: number): void {
  const key = requested.get('key');
  const fail = (cause: string): never => {
    throw new CommandError(67, 'CannotCreateIndex', `Error in specification ${documentText(requested)} :: caused by :: ${cause}`);
  };
  if (!(key instanceof Map)) {
    throw new CommandError(9, 'FailedToParse', "Error in specification " + documentText(requested) + " :: caused by :: The 'key' field is a required property of an index specification");
  }
  if (key.size === 0) fail('Index keys cannot be an empty field.');
  const plugin = [...key.values()].find((order) => typeof order === 'string');
  if (typeof plugin === 'string' && !plugins.has(plugin)) fail(`Unknown index plugin '${plugin}'`);
  for (const order of key.values()) {
    if (numberOf(order) === 0) fail('Values in the index key pattern cannot be 0.');
    if (numberOf(order) === undefined && typeof order !== 'string') {
      fail(`Values in v:2 index key pattern cannot be of type ${typeName(order)}. Only numbers > 0, numbers < 0, and strings are allowed.`);
    }
  }
  refuseOptions(requested, key);
  const seconds = numberOf(requested.get('expireAfterSeconds'));
  if (seconds !== undefined && (seconds < 0 || seconds > expiryMax)) {
    const range = seconds < 0 ? 'cannot be less than 0' : 'must be within an acceptable range, try a lower number';
    throw new CommandError(67, 'CannotCreateIndex', `TTL index 'expireAfterSeconds' option ${range}index spec: ${documentText(requested)}`);
  }
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

function completeIndexCollation(spec: Doc, collectionCollation: Doc | undefined): void {
  const own = spec.get('collation');
  spec.delete('collation');
  const collation = own instanceof Map ? completeCollation(own) : collectionCollation;
  if (collation !== undefined) spec.set('collation', collation);
}
