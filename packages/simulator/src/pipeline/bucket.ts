import { Int32 } from 'bson';
import { compareValues } from '../bson/compare.js';
import type { Doc, Value } from '../bson/value.js';
import { unsimulated } from '../node/unsimulated.js';
import { located } from '../query/query-error.js';
import { sortDocuments } from '../query/sort.js';
import { compileGroup } from './group.js';
import type { PipelineContext, RunStage } from './stage.js';

/** `$bucket`: groups by ranges between boundaries; made of a `$switch` and a `$group` as in the server. */
export function compileBucket(operand: Value, context: PipelineContext): RunStage {
  if (!(operand instanceof Map)) throw located(40201, 'Argument to $bucket stage must be an object');
  const groupBy = operand.get('groupBy');
  const boundaries = operand.get('boundaries');
  if (groupBy === undefined || !Array.isArray(boundaries))
    throw located(40198, "$bucket requires 'groupBy' and 'boundaries' to be specified.");
  checkBoundaries(boundaries);
  if (operand.has('output')) throw unsimulated('$bucket.output');
  const group = compileGroup(
    new Map<string, Value>([
      ['_id', bucketOf(groupBy, boundaries, operand.get('default'))],
      ['count', new Map([['$sum', new Int32(1)]])],
    ]),
    context,
  );
  return (docs) => sortDocuments(group(docs), new Map([['_id', new Int32(1)]]));
}

function checkBoundaries(boundaries: readonly Value[]): void {
  if (boundaries.length < 2)
    throw located(
      40192,
      `The $bucket 'boundaries' field must have at least 2 values, but found ${boundaries.length} value(s).`,
    );
  for (let index = 1; index < boundaries.length; index += 1) {
    if (compareValues(boundaries[index - 1] ?? null, boundaries[index] ?? null) >= 0) {
      throw located(40194, "The 'boundaries' option to $bucket must be sorted in ascending order.");
    }
  }
}

function bucketOf(groupBy: Value, boundaries: readonly Value[], fallback: Value | undefined): Value {
  const branches = boundaries.slice(0, -1).map((lower, index) => {
    const within: Value = new Map([
      ['$and', [comparison('$gte', groupBy, lower), comparison('$lt', groupBy, boundaries[index + 1] ?? null)]],
    ]);
    return new Map<string, Value>([
      ['case', within],
      ['then', literal(lower)],
    ]);
  });
  const choice = new Map<string, Value>([['branches', branches]]);
  if (fallback !== undefined) choice.set('default', literal(fallback));
  return new Map([['$switch', choice]]);
}

function comparison(operator: string, left: Value, right: Value): Doc {
  return new Map([[operator, [left, literal(right)]]]);
}

function literal(value: Value): Doc {
  return new Map([['$literal', value]]);
}
