import { Int32 } from 'bson';
import { typeName } from '../bson/type-of.js';
import type { Doc, Value } from '../bson/value.js';
import { compileExpression } from '../expression/evaluate.js';
import { makeVariables } from '../expression/variables.js';
import { compileMatcher, isOperatorDocument } from '../query/matcher.js';
import { schemaDetails } from './schema-details.js';
import { valuesAtPath } from './considered-values.js';

/**
 * Why a document does not match (`false`), or why it matches although it must not (`true`), as in `errInfo.details`
 * since 5.0.
 */
type Inverted = boolean;

/**
 * Explains which parts of a validator a document fails.
 * @param validator a filter that the document does not match
 */
export function failureDetails(validator: Doc, document: Doc): Doc {
  return clauseDetails(clausesOf(validator), document, false, '$and');
}

/** One condition of a filter: `[name, operand]`, with one entry for each operator of a field. */
type Clause = Doc;

function clausesOf(filter: Doc): Clause[] {
  return [...filter].flatMap(([name, operand]) => {
    if (name.startsWith('$') || !(operand instanceof Map) || !isOperatorDocument(operand))
      return [new Map([[name, operand]])];
    const options = operand.get('$options');
    return [...operand]
      .filter(([operator]) => operator !== '$options')
      .map(([operator, value]) => {
        const condition: Doc = new Map([[operator, value]]);
        if (operator === '$regex' && options !== undefined) condition.set('$options', options);
        return new Map([[name, condition]]);
      });
  });
}

/** A filter of one condition is explained directly. Several are an implicit `$and`. */
function clauseDetails(clauses: readonly Clause[], document: Doc, inverted: Inverted, operatorName: string): Doc {
  const [only] = clauses;
  if (only !== undefined && clauses.length === 1) return conditionDetails(only, document, inverted);
  return listDetails(operatorName, clauses, document, inverted, inverted);
}

/** @param wanted the result of a clause that causes the failure */
function listDetails(
  operatorName: string,
  clauses: readonly Doc[],
  document: Doc,
  wanted: boolean,
  inverted: Inverted,
): Doc {
  const blamed = clauses.flatMap((clause, index) => {
    if (compileMatcher(clause)(document) !== wanted) return [];
    return [
      new Map<string, Value>([
        ['index', new Int32(index)],
        ['details', clauseDetails(clausesOf(clause), document, inverted, '$and')],
      ]),
    ];
  });
  const name = inverted && operatorName !== '$nor' ? 'clausesSatisfied' : 'clausesNotSatisfied';
  return new Map<string, Value>([
    ['operatorName', operatorName],
    [name, blamed],
  ]);
}

function conditionDetails(clause: Clause, document: Doc, inverted: Inverted): Doc {
  const [[name, operand] = ['', null]] = clause;
  if (name.startsWith('$')) return topLevelDetails(name, operand, clause, document, inverted);
  if (!(operand instanceof Map) || !isOperatorDocument(operand))
    return fieldDetails(name, '$eq', clause, document, inverted);
  const [[operator, value] = ['', null]] = operand;
  if (operator !== '$not') return fieldDetails(name, operator, clause, document, inverted);
  const inner = clauseDetails(clausesOf(new Map([[name, value]])), document, !inverted, '$and');
  return new Map<string, Value>([
    ['operatorName', '$not'],
    ['details', inner],
  ]);
}

function topLevelDetails(name: string, operand: Value, clause: Clause, document: Doc, inverted: Inverted): Doc {
  const clauses = Array.isArray(operand) ? operand.filter((each) => each instanceof Map) : [];
  switch (name) {
    case '$and':
    case '$or':
      return listDetails(name, clauses, document, inverted, inverted);
    case '$nor':
      return listDetails(name, clauses, document, !inverted, !inverted);
    case '$jsonSchema':
      return inverted || !(operand instanceof Map)
        ? new Map<string, Value>([
            ['operatorName', '$jsonSchema'],
            ['specifiedAs', clause],
            ['reason', 'schema matched'],
          ])
        : new Map<string, Value>([
            ['operatorName', '$jsonSchema'],
            ['schemaRulesNotSatisfied', schemaDetails(operand, document)],
          ]);
    case '$expr':
      return new Map<string, Value>([
        ['operatorName', '$expr'],
        ['specifiedAs', clause],
        ['reason', inverted ? 'expression did match' : 'expression did not match'],
        ['expressionResult', compileExpression(operand)(makeVariables(document, {})) ?? null],
      ]);
    default:
      return new Map<string, Value>([
        ['operatorName', name],
        ['specifiedAs', clause],
        ['reason', `expression always evaluates to ${String(inverted)}`],
      ]);
  }
}

function fieldDetails(path: string, operator: string, clause: Clause, document: Doc, inverted: Inverted): Doc {
  const details: Doc = new Map<string, Value>([
    ['operatorName', operator],
    ['specifiedAs', clause],
  ]);
  const values = valuesAtPath(document, path);
  if (operator === '$exists') {
    return details.set('reason', values.length > 0 ? 'path does exist' : 'path does not exist');
  }
  const negated = operator === '$ne' || operator === '$nin';
  if (values.length === 0 && inverted === negated) return details.set('reason', 'field was missing');
  details.set('reason', reasonOf(operator, inverted !== negated));
  addConsidered(details, values);
  if (operator === '$type') addTypes(details, values);
  return details;
}

function reasonOf(operator: string, matched: boolean): string {
  const [failed, succeeded] = reasons.get(operator) ?? ['comparison failed', 'comparison succeeded'];
  return matched ? succeeded : failed;
}

const reasons: ReadonlyMap<string, readonly [string, string]> = new Map([
  ['$type', ['type did not match', 'type did match']],
  ['$in', ['no matching value found in array', 'matching value found in array']],
  ['$nin', ['no matching value found in array', 'matching value found in array']],
  ['$regex', ['regular expression did not match', 'regular expression did match']],
  ['$mod', ['$mod did not evaluate to expected remainder', '$mod did evaluate to expected remainder']],
  ['$size', ['array length was not equal to given size', 'array length was equal to given size']],
  ['$elemMatch', ['array did not satisfy the child predicate', 'array did satisfy the child predicate']],
  ['$all', ['array did not contain all specified values', 'array did contain all specified values']],
  ['$bitsAllSet', ['bitwise operator failed to match', 'bitwise operator matched successfully']],
  ['$bitsAnySet', ['bitwise operator failed to match', 'bitwise operator matched successfully']],
  ['$bitsAllClear', ['bitwise operator failed to match', 'bitwise operator matched successfully']],
  ['$bitsAnyClear', ['bitwise operator failed to match', 'bitwise operator matched successfully']],
]);

function addConsidered(details: Doc, values: readonly Value[]): void {
  const [only] = values;
  if (only !== undefined && values.length === 1) details.set('consideredValue', only);
  else if (values.length > 1) details.set('consideredValues', [...values]);
}

function addTypes(details: Doc, values: readonly Value[]): void {
  const names = [...new Set(values.map((value) => typeName(value)))].sort();
  const [only] = names;
  if (only !== undefined && names.length === 1) details.set('consideredType', only);
  else if (names.length > 1) details.set('consideredTypes', names);
}
