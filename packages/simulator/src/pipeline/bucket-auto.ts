import { Int32 } from 'bson';
import { compareValues } from '../bson/compare.js';
import { isNumber, toNumber } from '../bson/exact-number.js';
import type { Doc, Value } from '../bson/value.js';
import { compileExpression } from '../expression/evaluate.js';
import { makeVariables } from '../expression/variables.js';
import { located } from '../query/query-error.js';
import { compileGroup } from './group.js';
import { expressionContext, type PipelineContext, type RunStage } from './stage.js';

const COUNTED: Doc = new Map([['count', new Map([['$sum', new Int32(1)]])]]);

/** `$bucketAuto` without `granularity`: groups of about the same size in the order of a value. */
export function compileBucketAuto(operand: Value, context: PipelineContext): RunStage {
  if (!(operand instanceof Map)) throw located(40240, 'The argument to $bucketAuto must be an object');
  const groupBy = operand.get('groupBy');
  const wanted = operand.get('buckets');
  if (groupBy === undefined || wanted === undefined)
    throw located(40246, "$bucketAuto requires 'groupBy' and 'buckets' to be specified");
  const count = isNumber(wanted) ? toNumber(wanted) : Number.NaN;
  if (!Number.isInteger(count) || count <= 0)
    throw located(40243, "The $bucketAuto 'buckets' field must be greater than 0");
  if (operand.has('granularity')) throw located(40245, "The $bucketAuto 'granularity' field is not supported here");
  const output = operand.get('output');
  const expressions = expressionContext(context);
  const key = compileExpression(groupBy, expressions);
  const group = compileGroup(
    new Map<string, Value>([['_id', null], ...(output instanceof Map ? output : COUNTED)]),
    context,
  );
  return function* (docs) {
    const keyed = [...docs].map((doc) => ({ doc, key: key(makeVariables(doc, expressions)) ?? null }));
    keyed.sort((a, b) => compareValues(a.key, b.key, context.collation));
    const pieces = split(keyed, count, (a, b) => compareValues(a.key, b.key, context.collation) === 0);
    for (const [index, piece] of pieces.entries()) {
      const min = piece[0]?.key ?? null;
      const max = pieces[index + 1]?.[0]?.key ?? piece.at(-1)?.key ?? null;
      for (const result of group(piece.map(({ doc }) => doc)))
        yield new Map([...result]).set(
          '_id',
          new Map([
            ['min', min],
            ['max', max],
          ]),
        );
    }
  };
}

/** Cuts a sorted list into at most `count` pieces of about the same length; equal items stay together. */
function split<T>(items: readonly T[], count: number, equal: (a: T, b: T) => boolean): T[][] {
  const size = Math.max(1, Math.round(items.length / count));
  const pieces: T[][] = [];
  for (let at = 0; at < items.length;) {
    let end = pieces.length === count - 1 ? items.length : Math.min(items.length, at + size);
    while (end < items.length && equal(items[end] as T, items[end - 1] as T)) end += 1;
    pieces.push(items.slice(at, end));
    at = end;
  }
  return pieces;
}
