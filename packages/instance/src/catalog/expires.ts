import type { CatalogEntry } from './namespace.js';

/**
 * Whether the server deletes documents of a collection itself: by a TTL index, or by the age limit of a clustered
 * collection.
 */
export function expires({ indexes, options }: Pick<CatalogEntry, 'indexes' | 'options'>): boolean {
  return (
    options.expireAfterSeconds !== undefined ||
    indexes.some(({ expireAfterSeconds }) => expireAfterSeconds !== undefined)
  );
}
