import type { Doc } from '../../bson/value.js';

/** The description of a clustered index in `listIndexes`. @param option the collection's `clusteredIndex` */
export function clusteredIndexSpec(option: Doc): Doc {
  return new Map([...option, ['clustered', true]]);
}
