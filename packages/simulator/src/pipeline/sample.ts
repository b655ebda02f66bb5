import { isNumber, toNumber } from '../bson/exact-number.js';
import type { Value } from '../bson/value.js';
import { located } from '../query/query-error.js';

/** The number of documents that a `$sample` stage draws. @throws CommandError for an invalid size */
export function sampleSize(operand: Value): number {
  const size = operand instanceof Map ? operand.get('size') : undefined;
  if (!isNumber(size)) throw located(28749, '$sample stage must specify a size');
  const wanted = toNumber(size);
  if (wanted <= 0) throw located(28747, 'size argument to $sample must be a positive integer');
  return wanted;
}

/** Draws items at random with a reservoir of the wanted size. */
export function drawn<Item>(items: Iterable<Item>, wanted: number): Item[] {
  const kept: Item[] = [];
  let seen = 0;
  for (const item of items) {
    seen += 1;
    const place = Math.floor(Math.random() * seen);
    if (kept.length < wanted) kept.push(item);
    else if (place < wanted) kept[place] = item;
  }
  return kept;
}
