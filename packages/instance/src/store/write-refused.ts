import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { upsertStatesKey } from '../bson/shard-key.js';
import { statementBytesMax } from '../cluster/driver/write-command.js';
import { duplicateKeyCode, historyIncompleteCode, indexKeysCodes, objectTooLargeCode } from '../cluster/failure.js';
import type { RereadReason } from './reread-set.js';
import type { SyncedCollection } from './synced-collection.js';

/** BSONObjectTooLarge, and the codes of updates that would grow a document beyond 16 MB. */
const tooLargeCodes = new Set([objectTooLargeCode, 17419, 17420]);

const immutableFieldCode = 66;

/**
 * Why a document must be re-read after its statement failed. Either the destination is not yet in the right state (a
 * document is in the way, or an index is ahead of the documents), or the outcome is unknown. Null when no re-read
 * helps.
 */
export function rereadOfRefusal(
  { capped, collated }: Pick<SyncedCollection, 'capped' | 'collated'>,
  code: number,
): RereadReason | null {
  if (code === duplicateKeyCode) return 'duplicateKey';
  // Under the collection's collation the filter matched a document with another `_id`, which no update can change.
  if (collated && code === immutableFieldCode) return 'duplicateKey';
  // No re-read restores the position of a document in a capped collection.
  if (capped) return null;
  if (code === historyIncompleteCode) return 'unknownOutcome';
  return indexKeysCodes.has(code) ? 'indexKeys' : null;
}

/**
 * Why a document must be re-read because no upsert can write it: the statement is too large, or its filter cannot name
 * the shard key of the document. Null when the statement can be sent.
 */
export function rereadOfUpsert(
  statement: Uint8Array,
  document: Uint8Array,
  { destinationKey }: Pick<SyncedCollection, 'destinationKey'>,
): RereadReason | null {
  if (statement.length > statementBytesMax) return 'largeStatement';
  return upsertStatesKey(document, destinationKey) ? null : 'undefinedShardKey';
}

/** The error for a statement that no repetition mends. It names namespace and code, never values. */
export function writeRefused({ destination }: Pick<SyncedCollection, 'destination'>, code: number): ConvoyError {
  const namespace = `${destination.database}.${destination.name}`;
  if (tooLargeCodes.has(code))
    return new ConvoyError('documentTooLarge', `A document of ${namespace} is larger than the destination takes.`);
  return new ConvoyError('writeRefused', `The destination refused a write to ${namespace} with code ${code}.`);
}
