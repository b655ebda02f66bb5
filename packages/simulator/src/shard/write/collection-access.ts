import type { Doc, Value } from '../../bson/value.js';
import { decodeDocument } from '../../bson/decode.js';
import { typeName } from '../../bson/type-of.js';
import { compileMatcher, type Matcher } from '../../query/matcher.js';
import type { ServerVersion } from '../../node/server-version.js';
import { CommandError } from '../../node/command.js';
import { unsimulated } from '../../node/unsimulated.js';
import { failure } from '../failure.js';
import { createOperation } from '../oplog/ddl-operations.js';
import type { ShardState } from '../shard-state.js';
import type { Collection } from '../storage/collection.js';
import { PENDING, timeKey } from '../storage/time-key.js';
import { refuseView } from './refuse-view.js';

/** The collection of a write, created if it is missing. @throws CommandError 115 or 166 for a view */
export function collectionForWrite(state: ShardState, namespace: string): Collection {
  const existing = state.catalog.collection(namespace);
  if (existing !== undefined) return existing;
  refuseView(state, namespace);
  refuseInvalidName(namespace);
  return createCollection(state, namespace, new Map());
}

/**
 * Creates a collection and logs it, with the transaction that creates it if there is one.
 * @param options as in `listCollections`
 */
export function createCollection(state: ShardState, namespace: string, options: Doc): Collection {
  const at = namespace.indexOf('.');
  state.writeBlock.refuse(namespace.slice(0, at), namespace.slice(at + 1));
  if (state.transaction !== undefined) {
    const created = state.catalog.addCollection(namespace, options, PENDING);
    state.transaction.operations.push(createOperation(created));
    return created;
  }
  const clusterTime = state.oplog.nextTime();
  const collection = state.catalog.addCollection(namespace, options, timeKey(clusterTime));
  state.oplog.append(clusterTime, [createOperation(collection)]);
  return collection;
}

/**
 * Refuses invalid collection names. The length counts for normal collections: for a time series, not for its buckets
 * (8.0.10 source).
 * @throws CommandError 73
 */
export function refuseInvalidName(namespace: string): void {
  const name = namespace.slice(namespace.indexOf('.') + 1);
  if (name === '' || name.includes('$') || name.startsWith('.'))
    throw failure.invalidNamespace(`Invalid collection name: ${name}`);
  if (!name.startsWith('system.') && Buffer.byteLength(namespace) > NAMESPACE_BYTES_MAX) {
    throw failure.invalidNamespace(
      `Fully qualified namespace is too long. Namespace: ${namespace} Max: ${NAMESPACE_BYTES_MAX}`,
    );
  }
}

/** Longest `db.collection` in bytes (manual, "MongoDB Limits"). */
const NAMESPACE_BYTES_MAX = 255;

const validators = new WeakMap<Doc, Matcher>();

/**
 * Checks a document against the collection's validator, if it is enforced.
 * @param before the document it replaces; with validation level `moderate` an invalid one may stay invalid
 * @throws CommandError 121
 */
export function refuseInvalidDocument(
  { version }: Pick<ShardState, 'version'>,
  collection: Collection,
  document: Uint8Array,
  before: Uint8Array | undefined,
): void {
  const { options } = collection;
  const validator = options.get('validator');
  if (!(validator instanceof Map) || validator.size === 0) return;
  if (options.get('validationLevel') === 'off' || options.get('validationAction') === 'warn') return;
  const matches = validatorMatcher(validator, version);
  const decoded = decodeDocument(document);
  if (matches(decoded)) return;
  if (options.get('validationLevel') === 'moderate' && before !== undefined && !matches(decodeDocument(before))) return;
  const errInfo = new Map<string, Value>([
    ['failingDocumentId', decoded.get('_id') ?? null],
    ['details', failureDetails(validator, decoded)],
  ]);
  throw new CommandError(
    121,
    'DocumentValidationFailure',
    'Document failed validation',
    [],
    new Map([['errInfo', errInfo]]),
  );
}

function validatorMatcher(validator: Doc, version: ServerVersion): Matcher {
  const known = validators.get(validator);
  if (known !== undefined) return known;
  const made = compileMatcher(validator, undefined, { version });
  validators.set(validator, made);
  return made;
}

/** The operators whose failure is explained. */
const reasons: ReadonlyMap<string, string> = new Map([
  ['$type', 'type did not match'],
  ['$gt', 'comparison failed'],
  ['$gte', 'comparison failed'],
  ['$lt', 'comparison failed'],
  ['$lte', 'comparison failed'],
]);

/**
 * Explains why a document does not match a validator, as in `errInfo.details` since 5.0: one of these operators on one
 * field that is no array. The failure is simulated whatever the validator, so that other explanations are refused by
 * name in their place.
 */
export function failureDetails(validator: Doc, document: Doc): Doc {
  const [[path, condition] = ['', null]] = validator;
  const [operator = ''] = condition instanceof Map && condition.size === 1 ? condition.keys() : [];
  const reason = reasons.get(operator);
  const value = document.get(path);
  if (validator.size > 1 || /^\$|\./.test(path) || reason === undefined || Array.isArray(value))
    return new Map([['reason', unsimulated('the explanation of this failed validation').message]]);
  const details: Doc = new Map([['operatorName', operator]]);
  details.set('specifiedAs', validator);
  if (value === undefined) return details.set('reason', 'field was missing');
  details.set('reason', reason).set('consideredValue', value);
  return operator === '$type' ? details.set('consideredType', typeName(value)) : details;
}
