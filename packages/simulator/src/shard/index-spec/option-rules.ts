import { documentText } from '../../bson/text.js';
import type { Doc } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';

/** What an index may be described by (server source: index_key_validate). */
const KNOWN: ReadonlySet<string> = new Set([
  'v', 'key', 'name', 'ns', 'unique', 'background', 'sparse', 'expireAfterSeconds', 'storageEngine', 'weights', 'default_language',
  'language_override', 'textIndexVersion', '2dsphereIndexVersion', 'bits', 'min', 'max', 'bucketSize', 'partialFilterExpression', 'collation',
  'wildcardProjection', 'hidden', 'prepareUnique', 'clustered', 'dropDups', 'originalSpec', 'disallowNewDuplicateKeys', 'columnstoreProjection',
]);
/** What the index on `_id` may be described by. */
const KNOWN_OF_ID: ReadonlySet<string> = new Set(['v', 'key', 'name', 'ns', 'collation', 'background', 'clustered']);
/** Versions of indexes that can still be asked for. */
const VERSIONS: ReadonlySet<number> = new Set([1, 2]);

/**
 * Refuses options that no index has, or that do not go together.
 * Throws CommandError 2, 67, 197 or 16764.
 */
export function refuseOptions(requested: Doc, key: Doc): void {
  const isId = key.size === 1 && numberOf(key.get('_id')) === 1;
  for (const [name, value] of requested) {
    if (!KNOWN.has(name)) throw invalidOption(`The field '${name}' is not valid for an index specification. Specification: ${documentText(requested)}`);
    if (isId && !KNOWN_OF_ID.has(name) && value !== false) {
      throw invalidOption(`The field '${name}' is not valid for an _id index specification. Specification: ${documentText(requested)}`);
    }
  }
  const version = numberOf(requested.get('v'));
  if (version !== undefined && !VERSIONS.has(version)) throw cannotCreate(`Invalid index specification ${documentText(requested)}; cannot create an index with v=${version}`);
  if (requested.get('name') === '*') throw new CommandError(2, 'BadValue', "The index name '*' is not valid.");
  if (requested.get('name') === '') throw cannotCreate('index names cannot be empty');
  if (requested.has('partialFilterExpression') && isTrue(requested.get('sparse'))) {
    throw cannotCreate('cannot mix "partialFilterExpression" and "sparse" options');
  }
  if (requested.has('expireAfterSeconds') && key.size > 1) throw cannotCreate('TTL indexes are single-field indexes, compound indexes do not support TTL');
  if (isTrue(requested.get('unique')) && [...key.values()].includes('hashed')) {
    throw new CommandError(16764, 'Location16764', 'Currently hashed indexes cannot guarantee uniqueness. Use a regular index.');
  }
}

function invalidOption(message: string): CommandError {
  return new CommandError(197, 'InvalidIndexSpecificationOption', message);
}

function cannotCreate(message: string): CommandError {
  return new CommandError(67, 'CannotCreateIndex', message);
}
