import { typeName } from '../bson/type-of.js';
import type { Doc } from '../bson/value.js';
import { unsimulated } from '../node/unsimulated.js';

/** The operators whose failure is explained. */
const reasons: ReadonlyMap<string, string> = new Map([
  ['$type', 'type did not match'],
  ['$gt', 'comparison failed'],
  ['$gte', 'comparison failed'],
  ['$lt', 'comparison failed'],
  ['$lte', 'comparison failed'],
]);

/**
 * Explains why a document does not match a validator, as in `errInfo.details` since 5.0: one of these operators on one
 * field that is no array. The failure is simulated whatever the validator, so that other explanations are refused by
 * name in their place.
 */
export function failureDetails(validator: Doc, document: Doc): Doc {
  const [[path, condition] = ['', null]] = validator;
  const [operator = ''] = condition instanceof Map && condition.size === 1 ? condition.keys() : [];
  const reason = reasons.get(operator);
  const value = document.get(path);
  if (validator.size > 1 || /^\$|\./.test(path) || reason === undefined || Array.isArray(value))
    return new Map([['reason', unsimulated('the explanation of this failed validation').message]]);
  const details: Doc = new Map([['operatorName', operator]]);
  details.set('specifiedAs', validator);
  if (value === undefined) return details.set('reason', 'field was missing');
  details.set('reason', reason).set('consideredValue', value);
  return operator === '$type' ? details.set('consideredType', typeName(value)) : details;
}
