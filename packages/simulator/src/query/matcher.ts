import { BSONRegExp } from 'bson';
import type { Collation } from '../bson/collation.js';
import type { Doc, Value } from '../bson/value.js';
import { compileExpression } from '../expression/evaluate.js';
import { isTruthy } from '../expression/truth.js';
import { type ExpressionContext, makeVariables } from '../expression/variables.js';
import { namedIn } from '../node/language-names.js';
import { isNullStrict } from './comparison.js';
import { anyAtPath, splitPath } from './document-path.js';
import { compileOperator, equalityTest, type FieldTest, listOperand, type NestedQueries } from './field-operators.js';
import { compileJsonSchema } from './json-schema.js';
import { isOperatorDocument } from './operator-document.js';
import { badValue } from './query-error.js';

/** Whether a document matches. */
export type Matcher = (doc: Doc) => boolean;

const matchesAll: Matcher = () => true;

/**
 * Compiles a query filter.
 * @param context the `let` variables for `$expr`
 * @throws CommandError with the server's code and message for a filter it would refuse
 */
export function compileMatcher(filter: Doc, collation?: Collation, context?: ExpressionContext): Matcher {
  return compileFilter(filter, { collation, context });
}

/** What the parts of a filter share. */
interface Surroundings {
  readonly collation: Collation | undefined;
  readonly context: ExpressionContext | undefined;
  /** True for a filter on the fields of an array's elements. */
  readonly ofElements?: true;
  /** True for operators on an array's elements themselves. */
  readonly ofElement?: true;
}

function compileFilter(filter: Doc, around: Surroundings): Matcher {
  const { collation, context } = around;
  const nested: NestedQueries = {
    ...(around.ofElement === true && { ofElement: true }),
    nullIsStrict: isNullStrict(context?.version),
    compileFilter: (inner) => compileFilter(inner, { collation, context, ofElements: true }),
    compileOperators: (operators) => compileElementMatcher(operators, collation, context),
  };
  const tests: Matcher[] = [];
  for (const [name, operand] of filter) {
    const test = name.startsWith('$')
      ? compileTopLevel(name, operand, around)
      : compileField(name, operand, nested, collation);
    if (test !== matchesAll) tests.push(test);
  }
  return allOf(tests);
}

/**
 * Compiles operators that apply to a value that has no name, as in `$pull: {a: {$gt: 5}}`.
 * @throws CommandError as `compileMatcher`
 */
export function compileValueMatcher(
  operators: Doc,
  collation?: Collation,
  context?: ExpressionContext,
): (value: Value) => boolean {
  const matches = compileMatcher(new Map<string, Value>([['', operators]]), collation, context);
  return (value) => matches(new Map([['', value]]));
}

/**
 * As `compileValueMatcher`, for an array element: `$elemMatch` does not expand one that is an array itself.
 * @throws CommandError as `compileMatcher`
 */
export function compileElementMatcher(
  operators: Doc,
  collation?: Collation,
  context?: ExpressionContext,
): (value: Value) => boolean {
  const matches = compileFilter(new Map<string, Value>([['', operators]]), { collation, context, ofElement: true });
  return (value) => matches(new Map([['', value]]));
}

function allOf(tests: readonly Matcher[]): Matcher {
  const [first, second] = tests;
  if (first === undefined) return matchesAll;
  if (second === undefined) return first;
  return (doc) => {
    for (const test of tests) if (!test(doc)) return false;
    return true;
  };
}

function compileTopLevel(name: string, operand: Value, around: Surroundings): Matcher {
  switch (name) {
    case '$and':
      return allOf(compileList(name, operand, around));
    case '$or': {
      const tests = compileList(name, operand, around);
      return (doc) => tests.some((test) => test(doc));
    }
    case '$nor': {
      const tests = compileList(name, operand, around);
      return (doc) => !tests.some((test) => test(doc));
    }
    case '$expr':
      if (around.ofElements === true) throw badValue('$expr can only be applied to the top-level document');
      return compileExpr(operand, around.collation, around.context);
    case '$jsonSchema':
      return compileJsonSchema(operand);
    case '$comment':
      return matchesAll;
    default:
      namedIn(around.context?.version, 'query', name, undefined);
      throw badValue(
        `unknown top level operator: ${name}. If you have a field name that starts with a '$' symbol, consider ` +
          'using $getField or $setField.',
      );
  }
}

function compileList(name: string, operand: Value, around: Surroundings): Matcher[] {
  if (!Array.isArray(operand)) throw badValue(`${name} must be an array`);
  const isNewer = around.context?.version?.atLeast(8, 0) === true;
  if (operand.length === 0)
    throw badValue(isNewer ? `${name} argument must be a non-empty array` : '$and/$or/$nor must be a nonempty array');
  return operand.map((entry) => {
    if (!(entry instanceof Map)) throw badValue('$or/$and/$nor entries need to be full objects');
    return compileFilter(entry, around);
  });
}

function compileExpr(operand: Value, collation?: Collation, context: ExpressionContext = {}): Matcher {
  const evaluate = compileExpression(operand, collation === undefined ? context : { ...context, collation });
  return (doc) => isTruthy(evaluate(makeVariables(doc, context)));
}

function compileField(name: string, operand: Value, nested: NestedQueries, collation?: Collation): Matcher {
  const path = splitPath(name);
  if (!(operand instanceof Map) || !isOperatorDocument(operand))
    return fieldMatcher(path, equalityTest(operand, nested, collation), nested);
  const tests: Matcher[] = [];
  for (const [operator, value] of operand) {
    if (operator === '$not') tests.push(compileNot(name, value, nested, collation));
    else if (operator === '$all') tests.push(compileAll(name, value, nested, collation));
    else {
      const test = compileOperator(operator, value, name, operand, nested, collation);
      if (test !== undefined) tests.push(fieldMatcher(path, test, nested));
    }
  }
  return allOf(tests);
}

function fieldMatcher(
  path: readonly string[],
  { test, negated, leafArrays: looksInto }: FieldTest,
  { ofElement }: NestedQueries,
): Matcher {
  const leafArrays = looksInto && ofElement !== true;
  const [name] = path;
  if (path.length > 1 || name === undefined) {
    return (doc) => anyAtPath(doc, path, leafArrays, test) !== negated;
  }
  return (doc) => {
    const value = doc.get(name);
    return (leafArrays && Array.isArray(value) ? value.some(test) || test(value) : test(value)) !== negated;
  };
}

function compileNot(name: string, operand: Value, nested: NestedQueries, collation?: Collation): Matcher {
  if (operand instanceof Map) {
    const [first] = operand.keys();
    if (first === undefined) throw badValue('$not cannot be empty');
    if (!first.startsWith('$')) throw badValue(`unknown operator: ${first}`);
  } else if (!(operand instanceof BSONRegExp)) {
    throw badValue('$not needs a regex or a document');
  }
  const matches = compileField(name, operand, nested, collation);
  return (doc) => !matches(doc);
}

function compileAll(name: string, operand: Value, nested: NestedQueries, collation?: Collation): Matcher {
  if (!Array.isArray(operand)) throw badValue('$all needs an array');
  if (operand.length === 0) return () => false;
  const elements = operand.map((value) =>
    value instanceof Map && value.has('$elemMatch')
      ? compileField(name, value, nested, collation)
      : fieldMatcher(splitPath(name), equalityTest(listOperand([value], '$all')[0] ?? null, nested, collation), nested),
  );
  return allOf(elements);
}
