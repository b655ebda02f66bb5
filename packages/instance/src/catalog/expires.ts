import type { CatalogEntry } from './namespace.js';

/** Whether the server deletes documents of a collection by itself: it has a TTL index, or is clustered with a limit of age. */
export function expires({ indexes, options }: Pick<CatalogEntry, 'indexes' | 'options'>): boolean {
  return (
    options.expireAfterSeconds !== undefined ||
    indexes.some(({ expireAfterSeconds }) => expireAfterSeconds !== undefined)
  );
}
