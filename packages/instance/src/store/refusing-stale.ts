import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { duplicateKeyCode } from '../cluster/failure.js';
import { MetadataWriteError } from './metadata.js';

/**
 * Runs an upsert whose filter matches the own epoch and earlier ones. The server reports a later owner's document as a
 * duplicate key, and also one that an upsert of the same owner has inserted meanwhile. So the upsert is repeated once:
 * it finds the own document.
 * @throws ConvoyError `staleEpoch` when a later owner's document is in the way
 */
export async function refusingStale(upsert: () => Promise<void>): Promise<void> {
  try {
    await upsert().catch((error: unknown) => {
      if (isDuplicate(error)) return upsert();
      throw error;
    });
  } catch (error) {
    throw isDuplicate(error) ? new ConvoyError('staleEpoch') : error;
  }
}

function isDuplicate(error: unknown): boolean {
  return error instanceof MetadataWriteError && error.code === duplicateKeyCode;
}
