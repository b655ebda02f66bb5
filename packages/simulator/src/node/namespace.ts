/** The part of a namespace before its first dot. */
export function databaseOf(namespace: string): string {
  const dot = namespace.indexOf('.');
  return dot < 0 ? namespace : namespace.slice(0, dot);
}

/** The part of a namespace behind its first dot. */
export function collectionOf(namespace: string): string {
  const dot = namespace.indexOf('.');
  return dot < 0 ? '' : namespace.slice(dot + 1);
}

/** A namespace `db.collection` in its two parts; the collection's name may contain dots itself. */
export function splitNamespace(namespace: string): { db: string; collection: string } {
  const dot = namespace.indexOf('.');
  return dot < 0
    ? { db: namespace, collection: '' }
    : { db: namespace.slice(0, dot), collection: namespace.slice(dot + 1) };
}
