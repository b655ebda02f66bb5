import { BSONRegExp, Int32 } from 'bson';
import { typeName } from '../../bson/type-of.js';
import type { Doc, Value } from '../../bson/value.js';
import { unsimulated } from '../../node/unsimulated.js';
import { located } from '../../query/query-error.js';
import { compileRegex } from '../../query/regex.js';
import { type Compile, type Evaluate, namedArguments, type OperatorTable } from '../operator.js';
import { isNullish } from '../truth.js';

/** Regular expressions over texts. */
export const regexOperators: OperatorTable = {
  $regexMatch: (operand, compile, name) =>
    compileRegexOperator(operand, compile, name, false, (text, regex) => regex.test(text)),
  $regexFind: (operand, compile, name) =>
    compileRegexOperator(operand, compile, name, null, (text, regex) => found(text, regex.exec(text))),
  $regexFindAll: (operand, compile, name) =>
    compileRegexOperator(operand, compile, name, [], (text, regex) =>
      [...text.matchAll(new RegExp(regex, `${regex.flags}g`))].map((match) => found(text, match)),
    ),
};

/** @param none the result for a missing text or expression */
function compileRegexOperator(
  operand: Value,
  compile: Compile,
  name: string,
  none: Value,
  apply: (text: string, regex: RegExp) => Value,
): Evaluate {
  const required = ['input', 'regex'];
  const parts = namedArguments(operand, name, required, required, ['options']);
  const [input, regex] = required.map((part) => compile(parts.get(part) ?? null)) as [Evaluate, Evaluate];
  return (variables) => {
    const text = input(variables);
    const pattern = regex(variables);
    if (isNullish(text) || isNullish(pattern)) return none;
    if (typeof text !== 'string') throw located(51104, `${name} needs 'input' to be of type string`);
    return apply(text, expressionOf(pattern, name));
  };
}

function expressionOf(pattern: Value, name: string): RegExp {
  if (typeof pattern === 'string') return compileRegex(pattern, '');
  if (pattern instanceof BSONRegExp) throw unsimulated(`${name} by a regular expression of its own type`);
  throw located(51105, `${name} needs 'regex' to be of type string or regex, found: ${typeName(pattern)}`);
}

/** A match with its place in code points and what its groups took. */
function found(text: string, match: RegExpExecArray | null): Value {
  if (match === null) return null;
  const result: Doc = new Map<string, Value>([
    ['match', match[0]],
    ['idx', new Int32(Array.from(text.slice(0, match.index)).length)],
    ['captures', match.slice(1).map((group: string | undefined) => group ?? null)],
  ]);
  return result;
}
