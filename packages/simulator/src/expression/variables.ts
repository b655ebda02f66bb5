import type { Collation } from '../bson/collation.js';
import type { DateTime, Value } from '../bson/value.js';
import { namedIn } from '../node/language-names.js';
import type { ServerVersion } from '../node/server-version.js';
import { failedToParse, located } from '../query/query-error.js';

/** What expressions may refer to besides the document. */
export interface ExpressionContext {
  /** The time of `$currentDate`. */
  readonly now?: DateTime;
  /** Variables of the command's `let`, or of `$lookup`. Undefined is a missing value. */
  readonly let?: ReadonlyMap<string, Value | undefined>;
  /** Names of variables that operators around the expression bind. */
  readonly bound?: ReadonlySet<string>;
  readonly collation?: Collation;
  /** The release that decides the known names and what null in a filter matches. The recorded one when omitted. */
  readonly version?: ServerVersion;
}

/** The variables in scope while one document is evaluated: a chain, innermost first. */
export interface Variables {
  /** `$$ROOT`, and the start of field paths. */
  readonly doc: Value;
  readonly context: ExpressionContext;
  readonly binding?: Binding;
}

interface Binding {
  readonly name: string;
  readonly value: Value | undefined;
  readonly outer: Binding | undefined;
}

export function makeVariables(doc: Value, context: ExpressionContext): Variables {
  return { doc, context };
}

/** The same variables and one more. */
export function withVariable(variables: Variables, name: string, value: Value | undefined): Variables {
  return { doc: variables.doc, context: variables.context, binding: { name, value, outer: variables.binding } };
}

const builtIn: ReadonlySet<string> = new Set(['ROOT', 'CURRENT', 'REMOVE']);

/** @throws CommandError 17276 for an undefined variable, 115 for one of the release that is not simulated */
export function refuseUndefined(name: string, { bound, let: given, version }: ExpressionContext): void {
  if (builtIn.has(name) || bound?.has(name) === true || given?.has(name) === true) return;
  namedIn(version, 'variable', name, undefined);
  throw undefinedVariable(name);
}

/** @throws CommandError 9 for a name that variables may not have */
export function refuseVariableName(name: string): void {
  if (name === 'CURRENT') return;
  if (name === '') throw failedToParse('empty variable names are not allowed');
  if (!/^[a-z\u0080-\uffff]/.test(name))
    throw failedToParse(`'${name}' starts with an invalid character for a user variable name`);
  const wrong = /[^A-Za-z0-9_\u0080-\uffff]/.exec(name)?.[0];
  if (wrong !== undefined)
    throw failedToParse(`'${name}' contains an invalid character for a variable name: '${wrong}'`);
}

/** The value of `$$name`. @throws CommandError 17276 for an unknown built-in variable */
export function variableValue(variables: Variables, name: string): Value | undefined {
  for (let binding = variables.binding; binding !== undefined; binding = binding.outer)
    if (binding.name === name) return binding.value;
  const { let: given } = variables.context;
  if (given?.has(name) === true) return given.get(name);
  if (name === 'ROOT' || name === 'CURRENT') return variables.doc;
  if (name === 'REMOVE') return undefined;
  throw undefinedVariable(name);
}

function undefinedVariable(name: string): Error {
  return located(17276, `Use of undefined variable: ${name}`);
}
