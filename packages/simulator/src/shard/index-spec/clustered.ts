import type { Doc } from '../../bson/value.js';

/** The description that `listIndexes` gives of a clustered index. @param option the collection's `clusteredIndex` */
export function clusteredIndexSpec(option: Doc): Doc {
  return new Map([...option, ['clustered', true]]);
}
