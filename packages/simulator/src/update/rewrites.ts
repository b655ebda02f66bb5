import { isNumber, toNumber } from '../bson/exact-number.js';
import type { Value } from '../bson/value.js';
import { pushesNothing } from './array-operators.js';
import type { LeafModification } from './update-tree.js';

/**
 * Whether an operator counts as a change even where the bytes stay the same: the server then writes, logs and reports
 * it. Such are a `$push` that truncates what it has added, or sorts; arithmetic with NaN, which equals nothing; and the
 * removal of an element that is null.
 */
export function rewrites({ operator, operand }: LeafModification, present: Value | undefined): boolean {
  switch (operator) {
    case '$push':
      return Array.isArray(present) && !pushesNothing(operand);
    case '$inc':
    case '$mul':
      return isNumber(present) && Number.isNaN(toNumber(present));
    case '$unset':
      return present === null;
    default:
      return false;
  }
}
