import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { duplicateKeyCode } from '../cluster/failure.js';
import { MetadataWriteError } from './metadata.js';

/**
 * Runs an upsert whose filter matches the own epoch and earlier ones.
 * @throws ConvoyError `staleEpoch` when a later owner's document is in the way, which the server reports as a duplicate
 * key
 */
export async function refusingStale(upsert: () => Promise<void>): Promise<void> {
  try {
    await upsert();
  } catch (error) {
    if (error instanceof MetadataWriteError && error.code === duplicateKeyCode) throw new ConvoyError('staleEpoch');
    throw error;
  }
}
