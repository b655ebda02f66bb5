import { Int32, ObjectId } from 'bson';
import { valueText } from '../bson/text.js';
import type { Doc, Value } from '../bson/value.js';
import { compileExpression } from '../expression/evaluate.js';
import { type ExpressionContext, makeVariables } from '../expression/variables.js';
import { valueAtPath, splitPath } from '../query/document-path.js';
import { badValue, failedToParse, located } from '../query/query-error.js';
import { isTruthy } from '../expression/truth.js';

/** What `$merge` does with its documents. */
export interface MergeRule {
  readonly db: string;
  readonly collection: string;
  /** Fields that tell which document of the target is meant; undefined for the default. */
  readonly on: readonly string[] | undefined;
  /** `merge`, `replace`, `keepExisting`, `fail`, or a pipeline. */
  readonly whenMatched: string | Value[];
  readonly whenNotMatched: string;
  /** Variables of the pipeline, from the document. */
  readonly variables: Doc;
}

/** One document on its way into the target. */
export interface MergeStep {
  /** An update statement as `update` takes it; undefined when the document is only to be inserted. */
  readonly update: Doc | undefined;
  readonly document: Doc;
  /** What follows when the statement matches nothing. */
  readonly otherwise: 'nothing' | 'insert' | 'fail';
}

const MATCHED: ReadonlySet<string> = new Set(['merge', 'replace', 'keepExisting', 'fail']);
const NOT_MATCHED: ReadonlySet<string> = new Set(['insert', 'discard', 'fail']);
const FIELDS: ReadonlySet<string> = new Set([
  'into',
  'on',
  'let',
  'whenMatched',
  'whenNotMatched',
  'targetCollectionVersion',
]);

/** Reads a `$merge` stage. Throws CommandError 2, 9, 51181 or 51189 for what it refuses. @param db database of the command */
export function readMerge(spec: Value, db: string): MergeRule {
  if (typeof spec !== 'string' && !(spec instanceof Map))
    throw located(51182, '$merge only supports a string or object argument');
  const options: Doc = spec instanceof Map ? spec : new Map([['into', spec]]);
  for (const name of options.keys())
    if (!FIELDS.has(name)) throw located(40415, `BSON field '$merge.${name}' is an unknown field.`);
  const whenMatched = options.get('whenMatched') ?? 'merge';
  const whenNotMatched = options.get('whenNotMatched') ?? 'insert';
  if (!Array.isArray(whenMatched) && (typeof whenMatched !== 'string' || !MATCHED.has(whenMatched))) {
    throw badValue(`Enumeration value '${valueText(whenMatched)}' for field 'whenMatched' is not a valid value.`);
  }
  if (typeof whenNotMatched !== 'string' || !NOT_MATCHED.has(whenNotMatched)) {
    throw badValue(`Enumeration value '${valueText(whenNotMatched)}' for field 'whenNotMatched' is not a valid value.`);
  }
  const variables = options.get('let');
  if (variables !== undefined && !Array.isArray(whenMatched))
    throw located(51199, "Cannot use 'let' variables with 'whenMatched' mode other than a pipeline");
  if (!Array.isArray(whenMatched) && !isCombination(whenMatched, whenNotMatched)) {
    throw located(
      51181,
      `Combination of whenMatched: ${whenMatched} and whenNotMatched: ${whenNotMatched} is not supported`,
    );
  }
  return {
    ...target(options.get('into'), db),
    on: fieldsOf(options.get('on')),
    whenMatched,
    whenNotMatched,
    variables: variables instanceof Map ? variables : new Map<string, Value>(),
  };
}

function isCombination(whenMatched: string, whenNotMatched: string): boolean {
  if (whenMatched === 'keepExisting' || whenMatched === 'fail') return whenNotMatched === 'insert';
  return true;
}

function target(into: Value | undefined, db: string): { db: string; collection: string } {
  if (typeof into === 'string' && into !== '') return { db, collection: into };
  const collection = into instanceof Map ? into.get('coll') : undefined;
  const named = into instanceof Map ? (into.get('db') ?? db) : db;
  if (typeof collection === 'string' && typeof named === 'string') return { db: named, collection };
  throw failedToParse("$merge 'into' field must be a string or an object");
}

function fieldsOf(on: Value | undefined): string[] | undefined {
  if (on === undefined) return undefined;
  const fields = Array.isArray(on) ? on : [on];
  if (fields.length === 0)
    throw located(51187, "If explicitly specifying $merge 'on', must include at least one field");
  return fields.map((field) => {
    if (typeof field === 'string') return field;
    throw located(51186, "$merge 'on' field must be either a string or an array of strings");
  });
}

/**
 * What is done for one document.
 * @param on the fields that the target is matched by
 * Throws CommandError 51132 for a document without such a field, 51185 for an array in one.
 */
export function mergeStep(rule: MergeRule, on: readonly string[], given: Doc, context: ExpressionContext): MergeStep {
  const document: Doc =
    given.has('_id') || !on.includes('_id') ? given : new Map<string, Value>([['_id', new ObjectId()], ...given]);
  if (rule.whenMatched === 'fail') return { update: undefined, document, otherwise: 'nothing' };
  const otherwise = rule.whenNotMatched === 'discard' ? 'nothing' : rule.whenNotMatched === 'fail' ? 'fail' : 'insert';
  const update: Doc = new Map<string, Value>([
    ['q', matchedBy(on, document)],
    ['u', modification(rule.whenMatched, document)],
    ['multi', false],
  ]);
  if (Array.isArray(rule.whenMatched)) update.set('c', variablesOf(rule, document, context));
  return { update, document, otherwise };
}

function matchedBy(on: readonly string[], document: Doc): Doc {
  return new Map(
    on.map((field) => {
      const value = valueAtPath(document, splitPath(field));
      if (value === undefined || (value === null && field !== '_id')) {
        throw located(51132, "$merge write error: 'on' field cannot be missing, null, undefined or an array");
      }
      if (Array.isArray(value))
        throw located(51185, "$merge write error: 'on' field cannot be missing, null, undefined or an array");
      return [field, new Map([['$eq', value]])];
    }),
  );
}

function modification(whenMatched: string | Value[], document: Doc): Value {
  if (Array.isArray(whenMatched)) return whenMatched;
  if (whenMatched === 'replace') return document;
  if (whenMatched === 'keepExisting') return new Map([['$setOnInsert', document]]);
  return document.size === 0 ? [new Map([['$unset', ['']]])] : new Map([['$set', document]]);
}

/** `$$new` and the stage's own variables. */
function variablesOf({ variables }: MergeRule, document: Doc, context: ExpressionContext): Doc {
  const values: Doc = new Map<string, Value>(variables.has('new') || variables.size > 0 ? [] : [['new', document]]);
  for (const [name, expression] of variables)
    values.set(name, compileExpression(expression, context)(makeVariables(document, context)) ?? null);
  return values;
}

/** The error of a document that had to match and did not. */
export function noMatch(): Error {
  return located(
    13113,
    '$merge could not find a matching document in the target collection for at least one document in the source collection',
  );
}

/** True when an index lets `$merge` match by these fields: unique, not partial, on exactly them. */
export function supportsMerge(index: Doc, on: readonly string[]): boolean {
  const key = index.get('key');
  if (!(key instanceof Map) || index.has('partialFilterExpression') || index.get('sparse') === true) return false;
  const isId = key.size === 1 && key.has('_id');
  return (
    (isId || isTruthy(index.get('unique') ?? new Int32(0))) &&
    key.size === on.length &&
    on.every((field) => key.has(field))
  );
}

/** The error of fields that no unique index covers. */
export function noUniqueIndex(): Error {
  return located(51183, 'Cannot find index to verify that join fields will be unique');
}
