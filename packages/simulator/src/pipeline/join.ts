import { compareValues } from '../bson/compare.js';
import { documentText } from '../bson/text.js';
import type { Doc, Value } from '../bson/value.js';
import { CommandError } from '../node/command.js';
import { namedIn } from '../node/language-names.js';
import { compileExpression } from '../expression/evaluate.js';
import { makeVariables } from '../expression/variables.js';
import { anyAtPath, splitPath, valuesAlong, withValueAt } from '../query/document-path.js';
import { comparisonTest, isNullStrict } from '../query/comparison.js';
import { failedToParse, located } from '../query/query-error.js';
import { type CompilePipeline, expressionContext, type PipelineContext, type RunStage } from './stage.js';

/** `$lookup` by equal fields, by a pipeline, or both. */
export function compileLookup(operand: Value, context: PipelineContext, compile: CompilePipeline): RunStage {
  if (!(operand instanceof Map)) throw failedToParse('the $lookup specification must be an Object');
  const as = textField(operand, 'as', '$lookup');
  const from = lookupFrom(operand, context);
  const asPath = splitPath(as);
  const join = joinTest(operand, context);
  // Every collection has an index on it, by which documents are found.
  const byId = join !== undefined && operand.get('foreignField') === '_id';
  const inner = innerPipeline(operand, context, compile);
  return function* (docs) {
    for (const doc of docs) {
      const foreign = foreignDocuments(context, from);
      const found = join === undefined ? foreign : filtered(foreign, join(doc));
      const joined = byId
        ? [...found].sort((a, b) => compareValues(a.get('_id') ?? null, b.get('_id') ?? null))
        : found;
      yield withValueAt(doc, asPath, [...inner(doc, joined)]);
    }
  };
}

/** `$unionWith`: the documents of another collection after those of the first. */
export function compileUnionWith(operand: Value, context: PipelineContext, compile: CompilePipeline): RunStage {
  const from = typeof operand === 'string' ? operand : operand instanceof Map ? unionFrom(operand, context) : '';
  const stages = operand instanceof Map ? pipelineOf(operand.get('pipeline')) : [];
  const run = compile(stages, context);
  return function* (docs) {
    yield* docs;
    yield* run(foreignDocuments(context, from));
  };
}

/** `$facet`: several pipelines over the same documents. */
export function compileFacet(operand: Value, context: PipelineContext, compile: CompilePipeline): RunStage {
  if (!(operand instanceof Map) || operand.size === 0)
    throw located(40169, 'the $facet specification must be a non-empty object');
  const facets = [...operand].map(([name, stages]) => [name, compile(pipelineOf(stages), context)] as const);
  return (docs) => {
    const all = [...docs];
    return [new Map(facets.map(([name, run]) => [name, [...run(all)]]))];
  };
}

function foreignDocuments(context: PipelineContext, from: string): Iterable<Doc> {
  if (context.lookup === undefined) throw new CommandError(20, 'IllegalOperation', `cannot read from '${from}' here`);
  return context.lookup(from);
}

/** Since 6.0 a pipeline that begins with `$documents` needs no collection. */
function lookupFrom(operand: Doc, { version }: PipelineContext): string {
  if (operand.has('from')) return textField(operand, 'from', '$lookup');
  namedIn(version, 'option', '$lookup without a collection', undefined);
  throw failedToParse(`missing 'from' option to $lookup stage specification: ${documentText(operand)}`);
}

function unionFrom(operand: Doc, { version }: PipelineContext): string {
  if (operand.has('coll')) return textField(operand, 'coll', '$unionWith');
  namedIn(version, 'option', '$unionWith without a collection', undefined);
  throw failedToParse(
    '$unionWith stage without explicit collection must have a pipeline with $documents as first stage',
  );
}

function textField(operand: Doc, name: string, stage: string): string {
  const value = operand.get(name);
  if (typeof value === 'string') return value;
  throw failedToParse(`must specify '${name}' field for a ${stage}`);
}

/** Values of the local field match the foreign field as `$eq` would; none of them counts as null. */
function joinTest(
  operand: Doc,
  { collation, version }: PipelineContext,
): ((doc: Doc) => (foreign: Doc) => boolean) | undefined {
  const local = operand.get('localField');
  const foreign = operand.get('foreignField');
  if (typeof local !== 'string' || typeof foreign !== 'string') {
    if (!operand.has('pipeline'))
      throw failedToParse("$lookup requires either 'pipeline' or both 'localField' and 'foreignField' to be specified");
    return undefined;
  }
  const localPath = splitPath(local);
  const foreignPath = splitPath(foreign);
  return (doc) => {
    const found = valuesAlong(doc, localPath);
    const tests = (found.length === 0 ? [null] : found).map((wanted) =>
      comparisonTest('$eq', wanted, collation, isNullStrict(version)),
    );
    return (other) => anyAtPath(other, foreignPath, true, (value) => tests.some((test) => test(value)));
  };
}

function innerPipeline(
  operand: Doc,
  context: PipelineContext,
  compile: CompilePipeline,
): (doc: Doc, foreign: Iterable<Doc>) => Iterable<Doc> {
  const stages = pipelineOf(operand.get('pipeline'));
  if (stages.length === 0) return (_doc, foreign) => foreign;
  const definitions = operand.get('let');
  const expressions = expressionContext(context);
  const variables =
    definitions instanceof Map
      ? [...definitions].map(([name, value]) => [name, compileExpression(value, expressions)] as const)
      : [];
  return (doc, foreign) => {
    const bound = new Map(context.let);
    for (const [name, evaluate] of variables) bound.set(name, evaluate(makeVariables(doc, expressions)));
    return compile(stages, { ...context, let: bound })(foreign);
  };
}

function pipelineOf(value: Value | undefined): Doc[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw located(40170, 'arguments to a pipeline must be arrays');
  return value.map((stage) => {
    if (stage instanceof Map) return stage;
    throw located(40171, 'elements of a pipeline must be objects');
  });
}

function* filtered(docs: Iterable<Doc>, test: (doc: Doc) => boolean): Generator<Doc> {
  for (const doc of docs) if (test(doc)) yield doc;
}
