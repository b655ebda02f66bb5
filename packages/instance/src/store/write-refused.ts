import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { hasUndefinedKey } from '../bson/shard-key.js';
import { statementBytesMax } from '../cluster/driver/write-limits.js';
import { duplicateKeyCode, historyIncompleteCode, objectTooLargeCode } from '../cluster/failure.js';
import type { RereadReason } from './reread-set.js';
import type { SyncedCollection } from './synced-collection.js';

/** BSONObjectTooLarge, and what updates answer when a document would grow beyond 16 MB. */
const tooLargeCodes = new Set([objectTooLargeCode, 17419, 17420]);

const immutableFieldCode = 66;

/** What servers answer when an index cannot take a document, by the list that they keep of these codes themselves. */
const indexKeysCodes = new Set([
  // CannotIndexParallelArrays, CannotBuildIndexKeys, field names that are ambiguous in arrays, hashed indexes
  171, 201, 16746, 16766,
  // text
  16675, 16732, 16733, 17261, 17262,
  // 2dsphere, 2d, geoHaystack
  16755, 16756, 13026, 13027, 13067, 13068, 16804, 16775, 16776,
]);

/**
 * Why a key is to be read anew whose statement was refused for what stands on the destination just then: a document in the
 * way, or an index that is ahead of the documents; or of which nobody knows whether it was carried out. Null when no reading mends it.
 */
export function rereadOfRefusal(
  { capped, collated }: Pick<SyncedCollection, 'capped' | 'collated'>,
  code: number,
): RereadReason | null {
  if (code === duplicateKeyCode) return 'duplicateKey';
  // Under the collation of the collection the filter has found a document with another `_id`, which no update changes.
  if (collated && code === immutableFieldCode) return 'duplicateKey';
  // No repair puts a document of a capped collection in its place among the others.
  if (capped) return null;
  if (code === historyIncompleteCode) return 'unknownOutcome';
  return indexKeysCodes.has(code) ? 'indexKeys' : null;
}

/**
 * Why a document that no statement can put is to be read anew: the statement is too large, or its filter cannot give the shard key of
 * what it may have to insert. Null when the statement can be sent.
 */
export function rereadOfUpsert(
  statement: Uint8Array,
  document: Uint8Array,
  { destinationKey }: Pick<SyncedCollection, 'destinationKey'>,
): RereadReason | null {
  if (statement.length > statementBytesMax) return 'largeStatement';
  return hasUndefinedKey(document, destinationKey) ? 'undefinedShardKey' : null;
}

/** The named failure of a statement that no repetition mends; carries namespace and code, never values. */
export function writeRefused(collection: { database: string; name: string }, code: number): ConvoyError {
  const namespace = `${collection.database}.${collection.name}`;
  if (tooLargeCodes.has(code))
    return new ConvoyError('documentTooLarge', `A document of ${namespace} is larger than the destination takes.`);
  return new ConvoyError('writeRefused', `The destination refused a write to ${namespace} with code ${code}.`);
}
