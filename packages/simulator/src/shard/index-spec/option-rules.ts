import { Int32 } from 'bson';
import { documentText, valueText } from '../../bson/text.js';
import { typeName } from '../../bson/type-of.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';
import { isUnsimulated } from '../../node/unsimulated.js';
import { compileMatcher } from '../../query/matcher.js';
import { badValue, failedToParse, typeMismatch } from '../../query/query-error.js';

/** Valid fields of an index description (server source: index_key_validate). */
const KNOWN: ReadonlySet<string> = new Set([
  'v',
  'key',
  'name',
  'ns',
  'unique',
  'background',
  'sparse',
  'expireAfterSeconds',
  'storageEngine',
  'weights',
  'default_language',
  'language_override',
  'textIndexVersion',
  '2dsphereIndexVersion',
  'bits',
  'min',
  'max',
  'bucketSize',
  'partialFilterExpression',
  'collation',
  'wildcardProjection',
  'hidden',
  'prepareUnique',
  'clustered',
  'dropDups',
  'originalSpec',
  'disallowNewDuplicateKeys',
  'columnstoreProjection',
]);
/** Valid fields of a description of the index on `_id`. */
const KNOWN_OF_ID: ReadonlySet<string> = new Set(['v', 'key', 'name', 'ns', 'collation']);
/** Versions of indexes that are still valid. */
const VERSIONS: ReadonlySet<number> = new Set([1, 2]);

/**
 * Refuses invalid fields of a specification one by one (server source: `validateIndexSpec`).
 * @throws CommandError 2, 9, 14, 67 or 197 prefixed by `Error in specification`
 */
export function refuseFields(requested: Doc): void {
  try {
    checkFields(requested);
  } catch (error) {
    if (!(error instanceof CommandError) || isUnsimulated(error)) throw error;
    throw new CommandError(
      error.code,
      error.codeName,
      `Error in specification ${documentText(requested)} :: caused by :: ${error.message}`,
    );
  }
}

function checkFields(requested: Doc): void {
  for (const name of requested.keys()) {
    if (!KNOWN.has(name))
      throw invalidOption(
        `The field '${name}' is not valid for an index specification. Specification: ${documentText(requested)}`,
      );
  }
  for (const [name, value] of requested) fieldChecks[name]?.(value, requested);
  for (const name of ['key', 'name']) {
    if (!requested.has(name))
      throw failedToParse(`The '${name}' field is a required property of an index specification`);
  }
}

const fieldChecks: Readonly<Record<string, (value: Value, requested: Doc) => void>> = {
  key: (value) => {
    if (!(value instanceof Map)) throw wrongType('key', 'an object', value);
    refuseKey(value);
  },
  name: (value) => {
    if (typeof value !== 'string') throw wrongType('name', 'a string', value);
  },
  hidden: (value) => {
    if (typeof value !== 'boolean') throw wrongType('name', 'a bool', value);
  },
  v: (value, requested) => {
    const version = numberOf(value);
    if (version === undefined) throw wrongType('v', 'a number', value);
    if (!VERSIONS.has(version))
      throw cannotCreate(
        `Invalid index specification ${documentText(requested)}; cannot create an index with v=${version}`,
      );
  },
  collation: (value) => {
    if (!(value instanceof Map)) throw wrongType('collation', 'an object', value);
    if (value.size === 0) throw badValue("The field 'collation' cannot be an empty object.");
  },
  partialFilterExpression: (value) => {
    if (!(value instanceof Map)) throw wrongType('partialFilterExpression', 'an object', value);
    refuseSpecialFilter(value);
    compileMatcher(value);
  },
  ...Object.fromEntries(['background', 'unique', 'sparse', 'dropDups'].map((name) => [name, convertible(name)])),
};

function convertible(name: string): (value: Value) => void {
  return (value) => {
    if (typeof value !== 'boolean' && numberOf(value) === undefined)
      throw typeMismatch(`The field '${name} has value ${name}: ${valueText(value)}, which is not convertible to bool`);
  };
}

function wrongType(name: string, wanted: string, value: Value): CommandError {
  return typeMismatch(`The field '${name}' must be ${wanted}, but got ${typeName(value)}`);
}

/** The filter of an index may not use special features of queries. @throws CommandError 2 */
function refuseSpecialFilter(filter: Doc): void {
  const near = ['$near', '$nearSphere', '$geoNear'];
  for (const [name, operand] of filter) {
    if (name === '$text') throw badValue('$text is not allowed in this context');
    if (name === '$where') throw badValue('$where is not allowed in this context');
    if (name === '$expr') throw new CommandError(224, 'QueryFeatureNotAllowed', '$expr is not allowed in this context');
    if (name === '$jsonSchema')
      throw new CommandError(224, 'QueryFeatureNotAllowed', '$jsonSchema is not allowed in this context');
    const inner = Array.isArray(operand) ? operand : [operand];
    for (const part of inner) if (part instanceof Map && name.startsWith('$')) refuseSpecialFilter(part);
    if (operand instanceof Map && near.some((operator) => operand.has(operator)))
      throw badValue('$geoNear, $near, and $nearSphere are not allowed in this context');
  }
}

function refuseKey(key: Doc): void {
  if (key.size === 0) throw cannotCreate('Index keys cannot be empty.');
  const plugin = [...key.values()].find((order) => typeof order === 'string') ?? (isWildcard(key) ? 'wildcard' : '');
  if (typeof plugin === 'string' && plugin !== '' && !plugins.has(plugin))
    throw cannotCreate(`Unknown index plugin '${plugin}'`);
  for (const order of key.values()) {
    const number = numberOf(order);
    if (Number.isNaN(number)) throw cannotCreate('Values in the index key pattern cannot be NaN.');
    if (number === 0) throw cannotCreate('Values in the index key pattern cannot be 0.');
    if (number !== undefined && number < 0 && plugin === 'wildcard')
      throw cannotCreate('A numeric value in a $** index key pattern must be positive.');
    if (number === undefined && typeof order !== 'string') {
      throw cannotCreate(
        `Values in v:2 index key pattern cannot be of type ${typeName(order)}. Only numbers > 0, numbers < 0, ` +
          'and strings are allowed.',
      );
    }
    if (typeof order === 'string' && order !== plugin)
      throw cannotCreate("Can't use more than one index plugin for a single index.");
  }
}

/** Kinds of index that keys name by a text. */
const plugins: ReadonlySet<string> = new Set([
  '2d',
  '2dsphere',
  '2dsphere_bucket',
  'geoHaystack',
  'hashed',
  'text',
  'wildcard',
]);

function isWildcard(key: Doc): boolean {
  return [...key.keys()].some((path) => path === '$**' || path.endsWith('.$**'));
}

/**
 * Refuses invalid combinations of fields in a complete specification.
 * @param spec with its version
 * @throws CommandError 2, 67 or 197
 */
export function refuseOptions(spec: Doc, key: Doc): void {
  if (isIdPattern(key)) {
    refuseIdOptions(spec, key);
    return;
  }
  if (spec.get('name') === '_id_')
    throw badValue(
      `The index name '_id_' is reserved for the _id index, which must have key pattern {_id: 1}, found key: ` +
        documentText(key),
    );
  if (spec.get('name') === '*') throw badValue("The index name '*' is not valid.");
}

/** Refuses an invalid `create.idIndex`. @throws CommandError 2, 9, 14 or 197 */
export function refuseIdDescription(requested: Doc): void {
  checkFields(requested);
  const key = requested.get('key') as Doc;
  if (!isIdPattern(key))
    throw badValue(`The field 'key' for an _id index must be {_id: 1}, but got ${documentText(key)}`);
  refuseIdOptions(requested.has('v') ? requested : new Map([...requested, ['v', new Int32(2)]]), key);
}

/** The index of `_id` has only a key and a name. */
function refuseIdOptions(spec: Doc, key: Doc): void {
  for (const name of spec.keys()) {
    if (!KNOWN_OF_ID.has(name))
      throw invalidOption(
        `The field '${name}' is not valid for an _id index specification. Specification: ${documentText(spec)}`,
      );
  }
  if (numberOf(key.get('_id')) !== 1)
    throw badValue(`The field 'key' for an _id index must be {_id: 1}, but got ${documentText(key)}`);
}

function isIdPattern(key: Doc): boolean {
  return key.size === 1 && Math.abs(numberOf(key.get('_id')) ?? 0) === 1;
}

/**
 * Refuses specifications that cannot be built.
 * @param spec with its version and its whole collation
 * @throws CommandError 67
 */
export function refuseUnbuildable(spec: Doc, key: Doc): void {
  const cause = unbuildable(spec, key);
  if (cause !== undefined) throw cannotCreate(`Error in specification ${documentText(spec)} :: caused by :: ${cause}`);
}

/** Kinds of index without collation. */
const withoutCollation = ['text', '2d', 'geoHaystack'];

function unbuildable(spec: Doc, key: Doc): string | undefined {
  if (spec.get('name') === '') return 'index name cannot be empty';
  const collation = spec.get('collation');
  const plain = [...key.values()].find((order) => typeof order === 'string' && withoutCollation.includes(order));
  if (typeof plain === 'string' && collation instanceof Map)
    return `Index type '${plain}' does not support collation: ${documentText(collation)}`;
  if (isWildcard(key)) {
    if (isTrue(spec.get('sparse'))) return "Index type 'wildcard' does not support the sparse option";
    if (isTrue(spec.get('unique'))) return "Index type 'wildcard' does not support the unique option";
    if (spec.has('expireAfterSeconds')) return "Index type 'wildcard' cannot be a TTL index";
  }
  return spec.has('partialFilterExpression') && isTrue(spec.get('sparse'))
    ? 'cannot mix "partialFilterExpression" and "sparse" options'
    : undefined;
}

function invalidOption(message: string): CommandError {
  return new CommandError(197, 'InvalidIndexSpecificationOption', message);
}

function cannotCreate(message: string): CommandError {
  return new CommandError(67, 'CannotCreateIndex', message);
}
