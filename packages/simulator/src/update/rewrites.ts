import { isNumber, toNumber } from '../bson/exact-number.js';
import type { Value } from '../bson/value.js';
import { pushesNothing } from './array-operators.js';
import type { Modification } from './update-tree.js';

/**
 * Whether an operator counts as a change of what is there even where it leaves the same bytes: it is written, logged and told in an
 * event. A `$push` does that cuts off what it has added, or sorts; arithmetic with NaN, which equals nothing; and an element that is
 * null and removed.
 */
export function rewrites({ operator, operand }: Modification, present: Value | undefined): boolean {
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
