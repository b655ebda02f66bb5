import { codeOf, serverErrorCode } from '../../cluster/failure.js';
import { betweenBuilds } from './builds-under-way.js';
import type { IndexBuilding } from './index-building.js';

/**
 * Drops an index of the destination; a missing index is no error. One that is being built alone is no more. Others
 * that are being built are waited for.
 * @throws what `confirm` or the client throws
 */
export async function dropIndex(
  building: IndexBuilding,
  collection: { database: string; name: string },
  name: string,
): Promise<void> {
  const { client, signal, confirm, meaning } = building;
  const command = { dropIndexes: collection.name, index: name, ...meaning, writeConcern: { w: 'majority' } };
  try {
    await betweenBuilds(building, collection, async () => {
      await confirm();
      await client.command(collection.database, command, { signal });
    });
  } catch (failure) {
    if (codeOf(failure) !== serverErrorCode.indexNotFound) throw failure;
  }
}
