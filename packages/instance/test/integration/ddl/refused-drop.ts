import { type Collection, MongoServerError } from 'mongodb';

/** CannotDropShardKeyIndex. */
const neededCode = 370;

/** Drops an index of a shard key. @returns false where the servers keep the last one (from 6.0 on) */
export function dropKeyIndex(collection: Collection, name: string): Promise<boolean> {
  return collection.dropIndex(name).then(
    () => true,
    (error: unknown) => {
      if (error instanceof MongoServerError && error.code === neededCode) return false;
      throw error;
    },
  );
}
