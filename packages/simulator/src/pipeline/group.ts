import { BSONSymbol } from 'bson';
import { isNumber } from '../bson/exact-number.js';
import { encodeKeyString } from '../bson/key-string.js';
import type { Doc, Value } from '../bson/value.js';
import { compileExpression } from '../expression/evaluate.js';
import type { Evaluate } from '../expression/operator.js';
import { type ExpressionContext, makeVariables } from '../expression/variables.js';
import { namedIn } from '../node/language-names.js';
import { isElementCondition } from '../query/operator-document.js';
import { located } from '../query/query-error.js';
import { type Accumulator, accumulatorOf } from './accumulator.js';
import { expressionContext, type PipelineContext, type RunStage } from './stage.js';

interface GroupField {
  name: string;
  evaluate: Evaluate;
  make: () => Accumulator;
}

/** `$group`. Groups come in the order they are first met. */
export function compileGroup(operand: Value, context: PipelineContext): RunStage {
  if (!(operand instanceof Map)) throw located(15947, "a group's fields must be specified in an object");
  const expressions = expressionContext(context);
  const id = operand.get('_id');
  if (id === undefined) throw located(15955, 'a group specification must include an _id');
  const key = compileId(id, expressions);
  const fields = [...operand]
    .filter(([name]) => name !== '_id')
    .map(([name, spec]) => groupField(name, spec, expressions));
  return (docs) => grouped(docs, key, fields, expressions);
}

/**
 * A document of one field counts a missing value as null. One of several leaves the field out (server source:
 * expandId).
 */
function compileId(id: Value, context: ExpressionContext): Evaluate {
  const evaluate = compileExpression(id, context);
  if (!(id instanceof Map) || isElementCondition(id)) return evaluate;
  const refused = [...id.values()].find((value) => isNumber(value) || typeof value === 'boolean');
  if (refused !== undefined) throw located(17390, '$group does not support inclusion-style expressions');
  const [only] = id.keys();
  if (only === undefined || id.size > 1) return evaluate;
  return (variables) => {
    const made = evaluate(variables);
    return made instanceof Map && made.size === 0 ? new Map([[only, null]]) : made;
  };
}

function groupField(name: string, spec: Value, context: ExpressionContext): GroupField {
  if (name.includes('.')) throw located(40235, `The field name '${name}' cannot contain '.'`);
  if (!(spec instanceof Map) || spec.size !== 1)
    throw located(40234, `The field '${name}' must be an accumulator object`);
  const [[operator, operand] = ['', null]] = spec;
  const make = namedIn(context.version, 'accumulator', operator, accumulatorOf(operator));
  if (make === undefined) throw located(15952, `unknown group operator '${operator}'`);
  return { name, evaluate: compileExpression(operand, context), make };
}

function grouped(docs: Iterable<Doc>, key: Evaluate, fields: readonly GroupField[], context: ExpressionContext): Doc[] {
  const groups = new Map<string, { id: Value; accumulators: Accumulator[] }>();
  for (const doc of docs) {
    const variables = makeVariables(doc, context);
    const id = key(variables) ?? null;
    const plain = id instanceof BSONSymbol ? id.value : id;
    const text =
      typeof plain === 'string'
        ? `s${context.collation?.canonical(plain) ?? plain}`
        : encodeKeyString([plain]).toString('latin1');
    let group = groups.get(text);
    if (group === undefined) {
      group = { id, accumulators: fields.map(({ make }) => make()) };
      groups.set(text, group);
    }
    for (const [index, { evaluate }] of fields.entries()) group.accumulators[index]?.add(evaluate(variables));
  }
  return [...groups.values()].map(({ id, accumulators }) => {
    const result: Doc = new Map([['_id', id]]);
    for (const [index, { name }] of fields.entries()) result.set(name, accumulators[index]?.result() ?? null);
    return result;
  });
}
