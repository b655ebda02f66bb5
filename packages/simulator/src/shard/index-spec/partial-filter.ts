import { BSONRegExp } from 'bson';
import { documentText, valueText } from '../../bson/text.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { isTrue } from '../../node/doc-fields.js';
import type { ServerVersion } from '../../node/server-version.js';
import { isOperatorDocument } from '../../query/operator-document.js';

const ALLOWED: ReadonlySet<string> = new Set(['$eq', '$gt', '$gte', '$lt', '$lte', '$type', '$exists']);

/**
 * Refuses filters that no partial index may have (manual, "Partial Indexes"). Valid are comparisons, `$type` and
 * `$exists: true` under `$and`; `$or`, `$in` and nested `$and` since 6.0.
 * @param spec with its version and its whole collation
 * @throws CommandError 67
 */
export function refusePartialFilter(filter: Value, spec: Doc, version: ServerVersion): void {
  if (!(filter instanceof Map))
    throw cannotCreate('The field "partialFilterExpression" for an index must be a document');
  try {
    check(filter, version.atLeast(6, 0), true);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw cannotCreate(`Error in specification ${documentText(spec)} :: caused by :: ${error.message}`);
  }
}

function check(filter: Doc, later: boolean, top: boolean): void {
  for (const [name, operand] of filter) {
    if (name === '$and' || (name === '$or' && later)) {
      if (name === '$and' && !top && !later)
        throw cannotCreate('$and only supported in partialFilterExpression at top level');
      for (const part of Array.isArray(operand) ? operand : []) if (part instanceof Map) check(part, later, false);
    } else if (name.startsWith('$') || !isAllowedCondition(operand, later)) throw unsupported(name, operand);
  }
}

function isAllowedCondition(condition: Value, later: boolean): boolean {
  if (condition instanceof BSONRegExp) return false;
  if (!(condition instanceof Map) || !isOperatorDocument(condition)) return true;
  return [...condition].every(([operator, operand]) => {
    if (operator === '$exists') return isTrue(operand);
    return ALLOWED.has(operator) || (later && operator === '$in');
  });
}

/** The refusal shows the expression as the server has parsed it, or the name where that form is unknown. */
function unsupported(name: string, operand: Value): CommandError {
  const [[operator, value] = ['', null]] = operand instanceof Map ? operand : [];
  const shown =
    operator === '$ne'
      ? `$not\n    ${name} $eq ${valueText(value)}\n`
      : operator === '$exists'
        ? `$not\n    ${name} exists\n`
        : name;
  return cannotCreate(`unsupported expression in partial index: ${shown}`);
}

function cannotCreate(message: string): CommandError {
  return new CommandError(67, 'CannotCreateIndex', message);
}
