import type { Value } from '../bson/value.js';
import { unsimulated } from '../node/unsimulated.js';
import { located } from '../query/query-error.js';
import type { ExpressionContext, Variables } from './variables.js';

/** Computes a value. Undefined is a missing one. */
export type Evaluate = (variables: Variables) => Value | undefined;

/**
 * Compiles any expression, with further variables in scope. Passed to operators so that they need not import the table
 * that holds them.
 */
export type Compile = (expression: Value, names?: readonly string[]) => Evaluate;

/** Compiles one operator with its operand. */
export type OperatorCompiler = (operand: Value, compile: Compile, name: string, context: ExpressionContext) => Evaluate;

/** Operators by name. */
export type OperatorTable = Readonly<Record<string, OperatorCompiler>>;

/** The arguments of an operator. One that is no array stands for itself. */
export function argumentList(operand: Value): Value[] {
  return Array.isArray(operand) ? operand : [operand];
}

/**
 * An operator with a fixed number of arguments.
 * @throws CommandError 16020 for another number
 */
export function fixed(
  count: number,
  apply: (values: (Value | undefined)[], name: string, context: ExpressionContext) => Value | undefined,
): OperatorCompiler {
  return ranged(count, count, apply);
}

/**
 * An operator with a number of arguments within bounds.
 * @throws CommandError 16020 or 28667 for another number
 */
export function ranged(
  min: number,
  max: number,
  apply: (values: (Value | undefined)[], name: string, context: ExpressionContext) => Value | undefined,
): OperatorCompiler {
  return (operand, compile, name, context) => {
    const list = argumentList(operand);
    if (list.length < min || list.length > max) throw wrongCount(name, min, max, list.length);
    const evaluated = list.map((each) => compile(each));
    return (variables) =>
      apply(
        evaluated.map((evaluate) => evaluate(variables)),
        name,
        context,
      );
  };
}

/** An operator that looks for its second argument in its first. @throws CommandError 115 for a part to look in */
export function searching(
  apply: (value: Value | undefined, searched: Value | undefined) => Value | undefined,
): OperatorCompiler {
  return ranged(2, 4, ([value, searched, ...part], name) => {
    if (part.length > 0) throw unsimulated(`${name} within a part`);
    return apply(value, searched);
  });
}

/** An operator with any number of arguments. */
export function variadic(
  apply: (values: (Value | undefined)[], name: string, context: ExpressionContext) => Value | undefined,
): OperatorCompiler {
  return ranged(0, Number.MAX_SAFE_INTEGER, apply);
}

/** An operator that computes its arguments one after the other, as far as it needs them. */
export function sequential(
  apply: (values: Iterable<Value | undefined>, name: string, context: ExpressionContext) => Value | undefined,
): OperatorCompiler {
  return (operand, compile, name, context) => {
    const evaluated = argumentList(operand).map((each) => compile(each));
    return (variables) => apply(inTurn(evaluated, variables), name, context);
  };
}

function* inTurn(evaluated: readonly Evaluate[], variables: Variables): Generator<Value | undefined> {
  for (const evaluate of evaluated) yield evaluate(variables);
}

/**
 * The named arguments of an operator that takes a document.
 * @param refused names that servers know and that are not simulated
 * @throws CommandError 115 for one of these
 */
export function namedArguments(
  operand: Value,
  name: string,
  known: readonly string[],
  required: readonly string[],
  refused: readonly string[] = [],
): ReadonlyMap<string, Value> {
  if (!(operand instanceof Map)) throw located(28646, `${name} only supports an object as its argument`);
  for (const field of operand.keys()) {
    if (refused.includes(field)) throw unsimulated(`${name}.${field}`);
    if (!known.includes(field)) throw located(28647, `Unrecognized parameter to ${name}: ${field}`);
  }
  for (const field of required)
    if (!operand.has(field)) throw located(28648, `Missing '${field}' parameter to ${name}`);
  return operand;
}

function wrongCount(name: string, min: number, max: number, count: number): Error {
  return min === max
    ? located(16020, `Expression ${name} takes exactly ${min} arguments. ${count} were passed in.`)
    : located(
        28667,
        `Expression ${name} takes at least ${min} arguments, and at most ${max}, but ${count} were passed in.`,
      );
}
