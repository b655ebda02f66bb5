import { codeOf } from '../../cluster/failure.js';
import { serverErrorCode } from '../../cluster/server-error-code.js';
import type { IndexBuilding } from './index-building.js';

/**
 * Drops an index of the destination; a missing index is no error.
 * @throws what `confirm` or the client throws
 */
export async function dropIndex(
  { client, signal, confirm, meaning }: IndexBuilding,
  collection: { database: string; name: string },
  name: string,
): Promise<void> {
  await confirm();
  try {
    const command = { dropIndexes: collection.name, index: name, ...meaning, writeConcern: { w: 'majority' } };
    await client.command(collection.database, command, { signal });
  } catch (failure) {
    if (codeOf(failure) !== serverErrorCode.indexNotFound) throw failure;
  }
}
