import { elementType } from './element-type.js';
import { elementsOf } from './scan.js';

/**
 * Whether a top-level field is `Timestamp(0,0)`, which servers replace with the current time on insert and replacement.
 * Most documents contain no byte with the type's number; one native search rules them out.
 */
export function hasZeroTimestamp(document: Uint8Array): boolean {
  if (document.indexOf(elementType.timestamp) < 0) return false;
  for (const element of elementsOf(document)) {
    if (element.type !== elementType.timestamp) continue;
    if (document.subarray(element.start, element.end).every((byte) => byte === 0)) return true;
  }
  return false;
}
