import { Long } from 'bson';
import { encodeDocument } from '../../bson/encode.js';
import { documentText } from '../../bson/text.js';
import { typeName } from '../../bson/type-of.js';
import type { Doc, Value } from '../../bson/value.js';
import { scanPath } from '../../bson/scan.js';
import { CommandError } from '../../node/command.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';
import type { ServerVersion } from '../../node/server-version.js';
import { failure } from '../failure.js';
import type { Collection } from '../storage/collection.js';
import type { CollectionIndex, IndexDefinition } from '../storage/collection-index.js';

const fieldsOfOld = ['name', 'keyPattern', 'expireAfterSeconds', 'hidden'];
const fieldsSince60 = [...fieldsOfOld, 'unique', 'prepareUnique'];

/** Refuses fields of `collMod.index` that this release does not have. @throws CommandError 40415, or 72 in 4.4 */
export function refuseUnknownIndexFields(version: ServerVersion, change: Doc): void {
  const known = version.atLeast(6, 0) ? fieldsSince60 : fieldsOfOld;
  for (const name of change.keys()) {
    if (known.includes(name)) continue;
    if (version.atLeast(5, 0)) throw failure.unknownField(`collMod.index.${name}`);
    throw failure.invalidOptions(`Unrecognized field '${name}' in 'index' option`);
  }
  const seconds = change.get('expireAfterSeconds');
  if (seconds !== undefined && numberOf(seconds) === undefined) {
    const types = "expected types '[long, int, decimal, double']";
    throw failure.typeMismatch(
      `BSON field 'collMod.index.expireAfterSeconds' is the wrong type '${typeName(seconds)}', ${types}`,
    );
  }
}

/**
 * Changes the index of `collMod.index` and adds old and new values to the reply.
 * @param dryRun true to check only whether the index can become unique
 * @throws CommandError 27, 72, 2 as the server refuses; 359 with `violations` when documents violate uniqueness
 */
export function changeIndex(
  version: ServerVersion,
  collection: Collection,
  change: Doc,
  dryRun: boolean,
  reply: Doc,
): void {
  if (!version.atLeast(6, 0) && namesIndex(change) && !change.has('expireAfterSeconds') && !change.has('hidden'))
    throw failure.invalidOptions('no expireAfterSeconds or hidden field');
  const index = wantedIndex(collection, change);
  const { definition } = index;
  const spec: Doc = new Map(definition.spec);
  if (change.has('expireAfterSeconds'))
    changeExpiry(version, definition, spec, change.get('expireAfterSeconds') ?? null, reply);
  if (change.has('hidden')) changeHidden(definition, spec, isTrue(change.get('hidden')), reply);
  const convert = change.has('unique') && becomesUnique(definition, change.get('unique'));
  if (convert) refuseDuplicates(index);
  if (dryRun) return;
  if (convert) {
    spec.delete('prepareUnique');
    setAfterKey(spec, 'unique');
    definition.unique = true;
    definition.prepareUnique = false;
    reply.set('unique_new', true);
  }
  if (change.has('prepareUnique')) prepareUnique(definition, spec, isTrue(change.get('prepareUnique')), reply);
  definition.spec = spec;
}

function namesIndex(change: Doc): boolean {
  return change.has('name') !== change.has('keyPattern');
}

function changeExpiry(
  version: ServerVersion,
  definition: IndexDefinition,
  spec: Doc,
  seconds: Value,
  reply: Doc,
): void {
  const old = spec.get('expireAfterSeconds');
  if (old === undefined) refuseNewExpiry(version, definition);
  else reply.set('expireAfterSeconds_old', old);
  spec.delete('expireAfterSeconds');
  spec.set('expireAfterSeconds', Long.fromNumber(numberOf(seconds) ?? 0));
  reply.set('expireAfterSeconds_new', seconds);
}

/** Since 5.1 an index of one field can become a TTL index. */
function refuseNewExpiry(version: ServerVersion, definition: IndexDefinition): void {
  if (!version.atLeast(6, 0)) throw failure.invalidOptions('no expireAfterSeconds field to update');
  if (definition.name === '_id_') throw failure.invalidOptions('the _id field does not support TTL indexes');
  if (definition.fields.length !== 1) {
    throw failure.invalidOptions('TTL indexes are single-field indexes, compound indexes do not support TTL');
  }
}

function changeHidden(definition: IndexDefinition, spec: Doc, hidden: boolean, reply: Doc): void {
  if (spec.get('clustered') === true)
    throw new CommandError(6011800, 'Location6011800', "The 'hidden' option is not supported for a clusteredIndex");
  if (hidden && definition.name === '_id_') throw failure.badValue("can't hide _id index");
  if (isTrue(spec.get('hidden')) === hidden) return;
  reply.set('hidden_old', !hidden).set('hidden_new', hidden);
  spec.delete('hidden');
  if (hidden) spec.set('hidden', true);
}

function prepareUnique(definition: IndexDefinition, spec: Doc, prepared: boolean, reply: Doc): void {
  if (definition.unique || definition.prepareUnique === prepared) return;
  reply.set('prepareUnique_old', definition.prepareUnique).set('prepareUnique_new', prepared);
  definition.prepareUnique = prepared;
  if (prepared) spec.set('prepareUnique', true);
  else spec.delete('prepareUnique');
}

/** False when the index is unique already. @throws CommandError 2 to revert it, 72 when it was not prepared */
function becomesUnique(definition: IndexDefinition, wanted: Value | undefined): boolean {
  if (!isTrue(wanted)) throw failure.badValue('Cannot make index non-unique');
  if (definition.unique) return false;
  if (!definition.prepareUnique) {
    throw failure.invalidOptions("Cannot make index unique with 'prepareUnique=false'. Run collMod to set it first.");
  }
  return true;
}

function refuseDuplicates(index: CollectionIndex): void {
  const violations = index
    .duplicates()
    .map(({ documents }): Doc => new Map([['ids', documents.map((bytes) => scanPath(bytes, '_id') ?? null)]]));
  if (violations.length > 0) throw notUnique(violations);
}

/**
 * The refusal of a unique index because of documents.
 * @param violations `{ids: […]}` of each group that shares a key
 */
export function notUnique(violations: Value[]): CommandError {
  return new CommandError(
    359,
    'CannotConvertIndexToUnique',
    'Cannot convert the index to unique. Please resolve conflicting documents before running collMod again.',
    [],
    new Map([['violations', violations]]),
  );
}

/** Lists show uniqueness after key and name. */
function setAfterKey(spec: Doc, option: string): void {
  const fields = [...spec].filter(([name]) => name !== option);
  spec.clear();
  for (const [name, value] of fields) {
    spec.set(name, value);
    if (name === 'name') spec.set(option, true);
  }
}

function wantedIndex(collection: Collection, change: Doc): CollectionIndex {
  const name = change.get('name');
  const pattern = change.get('keyPattern');
  if (typeof name === 'string' && pattern instanceof Map)
    throw failure.invalidOptions('Cannot specify both key pattern and name.');
  if (typeof name !== 'string' && !(pattern instanceof Map))
    throw failure.invalidOptions('Must specify either index name or key pattern.');
  const key = pattern instanceof Map ? encodeDocument(pattern) : undefined;
  const found = collection.indexes.filter(({ definition }) =>
    key === undefined ? definition.name === name : encodeDocument(definition.spec.get('key') as Doc).equals(key),
  );
  const wanted = pattern instanceof Map ? documentText(pattern) : typeof name === 'string' ? name : '';
  const [first, second] = found;
  if (first === undefined)
    throw new CommandError(27, 'IndexNotFound', `cannot find index ${wanted} for ns ${collection.namespace}`);
  if (second === undefined) return first;
  const conflicting = `${documentText(first.definition.spec)}, ${documentText(second.definition.spec)}`;
  throw new CommandError(
    181,
    'AmbiguousIndexKeyPattern',
    `index keyPattern ${wanted} matches ${found.length} indexes, must use index name. Conflicting ` +
      `indexes:${conflicting}`,
  );
}
