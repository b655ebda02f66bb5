import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { duplicateKeyCode } from '../cluster/failure.js';
import { MetadataWriteError } from './metadata.js';

/**
 * Runs an upsert whose filter asks for an epoch that is not above the own one: a later owner's document stands in its way.
 * @throws ConvoyError `staleEpoch` then
 */
export async function refusingStale(upsert: () => Promise<void>): Promise<void> {
  try {
    await upsert();
  } catch (error) {
    if (error instanceof MetadataWriteError && error.code === duplicateKeyCode) throw new ConvoyError('staleEpoch');
    throw error;
  }
}
