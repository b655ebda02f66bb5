import { compareRaw } from './compare.js';
import { minKey, type RawValue } from './scan.js';

/**
 * Cuts a random sample into ranges of about equal size and returns the bounds between them, ascending.
 * @param sample in any order
 * @param parts wanted number of ranges; a small sample, or one of equal values, gives fewer
 */
export function evenBounds(sample: readonly RawValue[], parts: number): RawValue[] {
  const ordered = [...sample].sort(compareRaw);
  const bounds: RawValue[] = [];
  for (let part = 1; part < parts; part += 1) {
    const value = ordered[Math.floor((ordered.length * part) / parts)];
    // No range is empty: servers refuse bounds that do not ascend.
    const before = bounds.at(-1) ?? minKey;
    if (value !== undefined && compareRaw(before, value) < 0) bounds.push(value);
  }
  return bounds;
}
