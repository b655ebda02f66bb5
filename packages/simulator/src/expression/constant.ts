import type { Doc, Value } from '../bson/value.js';

/** Operators that servers do not compute before there is a document, even if all their arguments are constant. */
const neverFolded: ReadonlySet<string> = new Set([
  '$map',
  '$filter',
  '$reduce',
  '$let',
  '$zip',
  '$switch',
  '$regexFind',
  '$regexFindAll',
  '$regexMatch',
  '$meta',
  '$function',
  '$accumulator',
]);

/** Operators inside which servers do not look for constants. */
const neverLookedInto: ReadonlySet<string> = new Set(['$getField', '$setField', '$unsetField']);

/** Whether an expression has a value before there is a document. */
export function isConstant(expression: Value): boolean {
  return visitConstants(expression, () => undefined);
}

/**
 * Looks for constant operators in an expression, inner ones first.
 * @param found receives each
 * @returns whether the whole expression is constant
 */
export function visitConstants(expression: Value, found: (operator: Doc) => void): boolean {
  if (typeof expression === 'string') return !expression.startsWith('$') || /^\$\$REMOVE(?:\.|$)/.test(expression);
  if (Array.isArray(expression)) return all(expression, found);
  if (!(expression instanceof Map)) return true;
  if (!isOperator(expression)) return all([...expression.values()], found);
  const [[name, operand] = ['', null]] = expression;
  if (name === '$literal' || name === '$const') return true;
  if (neverLookedInto.has(name)) return false;
  const operands =
    operand instanceof Map && !isOperator(operand)
      ? [...operand.values()]
      : Array.isArray(operand)
        ? operand
        : [operand];
  if (!all(operands, found) || neverFolded.has(name)) return false;
  found(expression);
  return true;
}

function all(expressions: readonly Value[], found: (operator: Doc) => void): boolean {
  return expressions.map((each) => visitConstants(each, found)).every(Boolean);
}

/** Whether a document of an expression is an operator with its operand. */
export function isOperator(value: Doc): boolean {
  const [first] = value.keys();
  return first?.startsWith('$') === true;
}
