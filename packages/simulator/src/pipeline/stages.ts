import { Int32 } from 'bson';
import { compareValues } from '../bson/compare.js';
import { isNumber, toNumber } from '../bson/exact-number.js';
import type { Doc, Value } from '../bson/value.js';
import { compileMatcher } from '../query/matcher.js';
import { namedIn } from '../node/language-names.js';
import { defaultVersion, type ServerVersion } from '../node/server-version.js';
import { located } from '../query/query-error.js';
import { sortDocuments } from '../query/sort.js';
import { compileBucket } from './bucket.js';
import { compileGraphLookup } from './graph-lookup.js';
import { compileGroup } from './group.js';
import { compileFacet, compileLookup, compileUnionWith } from './join.js';
import {
  compileRedact,
  compileAddFields,
  compileProject,
  compileReplaceRoot,
  compileUnpack,
  compileUnset,
  compileUnwind,
} from './reshape.js';
import { countRearranged, rearranged, refuseNarrowedLookup, refuseUnreadableMatch } from './rearranged.js';
import { drawn, sampleSize } from './sample.js';
import { expressionContext, type PipelineContext, type RunStage, type StageCompiler } from './stage.js';

const stageCompilers: Readonly<Record<string, StageCompiler>> = {
  $match: compileMatch,
  $project: compileProject,
  $addFields: (operand, context) => compileAddFields(operand, context, '$addFields'),
  $set: (operand, context) => compileAddFields(operand, context, '$set'),
  $unset: compileUnset,
  $replaceRoot: (operand, context) => compileReplaceRoot(newRootOf(operand), context, "'newRoot' expression"),
  $replaceWith: (operand, context) => compileReplaceRoot(operand, context, "'replacement document'"),
  $redact: compileRedact,
  $sort: compileSortStage,
  $limit: compileLimit,
  $skip: compileSkip,
  $group: compileGroup,
  $unwind: compileUnwind,
  $count: compileCount,
  $sample: compileSample,
  $lookup: compileLookup,
  $unionWith: compileUnionWith,
  $facet: compileFacet,
  $bucket: compileBucket,
  $graphLookup: compileGraphLookup,
  $_internalUnpackBucket: compileUnpack,
};

/**
 * Compiles an aggregation pipeline over documents in memory.
 * @throws CommandError 40324 for an unknown stage, and the server's errors for what a stage refuses
 */
export function compilePipeline(stages: readonly Doc[], context: PipelineContext): RunStage {
  const compiled = stages.map((stage) => compileStage(stage, context));
  refuseUnreadableMatch(stages);
  refuseNarrowedLookup(stages);
  // Computes nothing before the first document is requested, which identifies failures over documents.
  const early = countRearranged(stages);
  const inTurn =
    (from: number, to: number): RunStage =>
    (docs) =>
      compiled.slice(from, to).reduce((input, run) => run(input), docs);
  return function* (docs) {
    yield* inTurn(early, compiled.length)(early === 0 ? docs : rearranged(inTurn(0, early), docs));
  };
}

/** Whether `compilePipeline` knows a stage. */
export function isStage(stage: Doc): boolean {
  const [name = ''] = stage.keys();
  return Object.hasOwn(stageCompilers, name);
}

function compileStage(stage: Doc, context: PipelineContext): RunStage {
  const [name] = stage.keys();
  if (name === undefined || stage.size !== 1)
    throw located(40323, 'A pipeline stage specification object must contain exactly one field.');
  refuseInternal(name, context.version);
  const compile = namedIn(
    context.version,
    'stage',
    name,
    Object.hasOwn(stageCompilers, name) ? stageCompilers[name] : undefined,
  );
  if (compile === undefined) throw located(40324, `Unrecognized pipeline stage name: '${name}'`);
  return compile(stage.get(name) ?? null, context, compilePipeline);
}

/** 5.0 reserves `$documents` for itself (recorded). */
function refuseInternal(name: string, version: ServerVersion = defaultVersion): void {
  if (name !== '$documents' || version.atLeast(6, 0) || !version.atLeast(5, 0)) return;
  throw located(5491300, `${name}' is not allowed in user requests`);
}

function compileMatch(operand: Value, context: PipelineContext): RunStage {
  if (!(operand instanceof Map)) throw located(15959, 'the match filter must be an expression in an object');
  const matches = compileMatcher(operand, context.collation, expressionContext(context));
  return function* (docs) {
    for (const doc of docs) if (matches(doc)) yield doc;
  };
}

function newRootOf(operand: Value): Value {
  const root = operand instanceof Map ? operand.get('newRoot') : undefined;
  if (root === undefined) throw located(40231, 'no newRoot specified for the $replaceRoot stage');
  return root;
}

function compileSortStage(operand: Value, context: PipelineContext): RunStage {
  if (!(operand instanceof Map)) throw located(15973, 'the $sort key specification must be an object');
  if (operand.size === 0) throw located(15976, '$sort stage must have at least one sort key');
  sortDocuments([], operand, context.collation);
  if (operand.size === 1 && isNumber(operand.get('_id'))) return sortById(operand, context);
  return (docs) => sortDocuments(docs, operand, context.collation);
}

/** A sort by `_id` alone compares whole values, also arrays that a stage has made. */
function sortById(spec: Doc, { collation }: PipelineContext): RunStage {
  const order = spec.get('_id');
  const direction = isNumber(order) && toNumber(order) < 0 ? -1 : 1;
  return (docs) =>
    [...docs].sort((a, b) => compareValues(a.get('_id') ?? null, b.get('_id') ?? null, collation) * direction);
}

function compileLimit(operand: Value): RunStage {
  const limit = countOf(operand, '$limit', 5107201);
  if (limit === 0) throw located(15958, 'the limit must be positive');
  return function* (docs) {
    let left = limit;
    for (const doc of docs) {
      yield doc;
      left -= 1;
      if (left === 0) return;
    }
  };
}

function compileSkip(operand: Value): RunStage {
  const skip = countOf(operand, '$skip', 5107200);
  return function* (docs) {
    let left = skip;
    for (const doc of docs) {
      if (left > 0) left -= 1;
      else yield doc;
    }
  };
}

function countOf(operand: Value, name: string, code: number): number {
  const count = isNumber(operand) ? toNumber(operand) : Number.NaN;
  if (Number.isInteger(count) && count >= 0) return count;
  throw located(code, `invalid argument to ${name} stage: Expected a non-negative number in: ${name}`);
}

function compileCount(operand: Value): RunStage {
  if (typeof operand !== 'string') throw located(40156, 'the count field must be a non-empty string');
  if (operand === '') throw located(40157, 'the count field must be a non-empty string');
  if (operand.startsWith('$')) throw located(40158, 'the count field cannot be a $-prefixed path');
  if (operand.includes('.')) throw located(40160, "the count field cannot contain '.'");
  return function* (docs) {
    const count = Array.from(docs).length;
    if (count > 0) yield new Map([[operand, new Int32(count)]]);
  };
}

function compileSample(operand: Value): RunStage {
  const size = sampleSize(operand);
  return (docs) => drawn(docs, size);
}
