import { Long } from 'bson';
import { computedText } from '../bson/computed-text.js';
import { documentText } from '../bson/text.js';
import { typeName } from '../bson/type-of.js';
import type { Doc, Value } from '../bson/value.js';
import { docOrEmpty } from '../node/doc-fields.js';
import { measurementsOf, readBucket } from '../time-series/bucket.js';
import { timeSeriesOf } from '../time-series/bucketing.js';
import { checkedPath } from '../expression/checked-path.js';
import { compileExpression } from '../expression/evaluate.js';
import { MutableDocument } from '../expression/mutable-document.js';
import type { Evaluate } from '../expression/operator.js';
import { makeVariables, type ExpressionContext, withVariable } from '../expression/variables.js';
import { CommandError } from '../node/command.js';
import { isUnsimulated } from '../node/unsimulated.js';
import { splitPath, valueAtPath, withValueAt } from '../query/document-path.js';
import { compileExclusion, compileStageProjection } from '../query/projection.js';
import { makeProjectionNode, type ProjectionNode, setFields } from '../query/projection-tree.js';
import { located } from '../query/query-error.js';
import { expressionContext, type PipelineContext, type RunStage } from './stage.js';

/** `$project`. */
export function compileProject(operand: Value, context: PipelineContext): RunStage {
  if (!(operand instanceof Map)) throw located(15969, '$project specification must be an object');
  return named('$project', () => {
    if (operand.size === 0) throw located(51272, 'projection specification must have at least one field');
    return mapped(compileStageProjection(operand, expressionContext(context)));
  });
}

/** `$unset`: one name or a list. */
export function compileUnset(operand: Value, context: PipelineContext): RunStage {
  if (typeof operand !== 'string' && !Array.isArray(operand))
    throw located(31002, '$unset specification must be a string or an array');
  const names = Array.isArray(operand) ? operand : [operand];
  if (names.length === 0)
    throw located(31119, '$unset specification must be a string or an array with at least one field');
  if (names.some((name) => typeof name !== 'string'))
    throw located(31120, '$unset specification must be a string or an array containing only string values');
  return named('$unset', () => mapped(compileExclusion(names as string[], expressionContext(context))));
}

/** `$addFields` and `$set`. */
export function compileAddFields(operand: Value, context: PipelineContext, name: '$addFields' | '$set'): RunStage {
  if (!(operand instanceof Map))
    throw located(40272, `${name} specification stage must be an object, got ${typeName(operand)}`);
  const expressions = expressionContext(context);
  const root = makeProjectionNode();
  named(name, () => {
    refuseConflicts(operand);
    for (const [path, value] of operand)
      addComputed(root, path, value, (expression) => compileExpression(expression, expressions));
  });
  return mapped((doc) => setFields(root, doc, makeVariables(doc, expressions)));
}

/** The name of the stage prefixes its refusals. */
function named<T>(stage: string, compile: () => T): T {
  try {
    return compile();
  } catch (error) {
    if (!(error instanceof CommandError) || isUnsimulated(error)) throw error;
    throw new CommandError(
      error.code,
      error.codeName,
      `Invalid ${stage} :: caused by :: ${error.message}`,
      error.labels,
      error.extra,
    );
  }
}

/** `$replaceWith`, and `$replaceRoot` without its wrapper. @param role what the operand is, for messages */
export function compileReplaceRoot(operand: Value, context: PipelineContext, role: string): RunStage {
  const expressions = expressionContext(context);
  const evaluate = compileExpression(operand, expressions);
  return mapped((doc) => {
    const root = evaluate(makeVariables(doc, expressions));
    if (root instanceof Map) return root;
    throw located(
      40228,
      `${role} must evaluate to an object, but resulting value was: ${computedText(root)}. Type of resulting ` +
        `value: '${typeName(root)}'. Input document: ${computedText(doc)}`,
    );
  });
}

/** Refuses overlapping paths and empty objects, before any expression is read. */
function refuseConflicts(spec: Doc): void {
  const seen = new Set<string>();
  const add = (path: string): void => {
    const other = seen.has(path)
      ? path
      : [...seen].sort().find((known) => known.startsWith(`${path}.`) || path.startsWith(`${known}.`));
    if (other !== undefined)
      throw located(
        40176,
        `specification contains two conflicting paths. Cannot specify both '${path}' and '${other}': ` +
          documentText(spec),
      );
    seen.add(path);
  };
  const visit = (path: string, value: Value): void => {
    if (!(value instanceof Map)) {
      add(path);
      return;
    }
    if (value.size === 0)
      throw located(40180, `an empty object is not a valid value. Found empty object at path ${path}`);
    for (const [name, inner] of value) {
      if (name.startsWith('$')) {
        if (value.size !== 1)
          throw located(
            40181,
            'an expression specification must contain exactly one field, the name of the expression. Found ' +
              `${value.size} fields in ${documentText(value)}, while parsing object ${documentText(spec)}`,
          );
        add(path);
      } else if (name.includes('.'))
        throw located(40183, `cannot use dotted field name '${name}' in a sub object: ${documentText(spec)}`);
      else visit(`${path}.${name}`, inner);
    }
  };
  for (const [path, value] of spec) visit(checkedPath(path).join('.'), value);
}

function addComputed(
  root: ProjectionNode,
  path: string,
  value: Value,
  compile: (value: Value) => ReturnType<typeof compileExpression>,
): void {
  if (value instanceof Map && [...value.keys()][0]?.startsWith('$') !== true) {
    for (const [name, inner] of value) addComputed(root, `${path}.${name}`, inner, compile);
    return;
  }
  const names = checkedPath(path);
  let node = root;
  for (const name of names.slice(0, -1)) {
    const known = node.children.get(name) ?? { node: makeProjectionNode() };
    if (!('node' in known)) throw new Error(`${path} lies in another path.`);
    node.children.set(name, known);
    node = known.node;
  }
  node.children.set(names.at(-1) ?? '', { leaf: { kind: 'computed', evaluate: compile(value) } });
}

function mapped(apply: (doc: Doc) => Doc): RunStage {
  return function* (docs) {
    for (const doc of docs) yield apply(doc);
  };
}

/** `$redact`: keeps, cuts or looks into each level of a document, as an expression says. */
export function compileRedact(operand: Value, context: PipelineContext): RunStage {
  const expressions: ExpressionContext = {
    ...expressionContext(context),
    let: new Map<string, Value | undefined>([
      ...(context.let ?? []),
      ['DESCEND', 'descend'],
      ['PRUNE', 'prune'],
      ['KEEP', 'keep'],
    ]),
  };
  const decide = compileExpression(operand, expressions);
  return function* (docs) {
    for (const doc of docs) {
      const kept = redacted(doc, doc, decide, expressions);
      if (kept !== undefined) yield kept;
    }
  };
}

function redacted(doc: Doc, root: Doc, decide: Evaluate, context: ExpressionContext): Doc | undefined {
  const decision = decide(withVariable(makeVariables(doc, context), 'ROOT', root));
  if (decision === 'keep') return doc;
  if (decision === 'prune') return undefined;
  if (decision !== 'descend') throw located(17053, '$redact must evaluate to one of $$KEEP, $$PRUNE, or $$DESCEND');
  const kept: Doc = new Map();
  for (const [name, value] of doc) {
    const inner = redactedValue(value, root, decide, context);
    if (inner !== undefined) kept.set(name, inner);
  }
  return kept;
}

function redactedValue(value: Value, root: Doc, decide: Evaluate, context: ExpressionContext): Value | undefined {
  if (value instanceof Map) return redacted(value, root, decide, context);
  if (!Array.isArray(value)) return value;
  return value.flatMap((item) => {
    const inner = redactedValue(item, root, decide, context);
    return inner === undefined ? [] : [inner];
  });
}

/** `$unwind`: one document per array element. */
export function compileUnwind(operand: Value): RunStage {
  const spec: Doc = operand instanceof Map ? operand : new Map([['path', operand]]);
  const path = spec.get('path');
  if (typeof path !== 'string') throw located(28808, 'expected a string as the path for $unwind stage');
  if (!path.startsWith('$'))
    throw located(28818, `path option to $unwind stage should be prefixed with a '$': ${path}`);
  const names = path.slice(1).split('.');
  const index = spec.get('includeArrayIndex');
  const keepsEmpty = spec.get('preserveNullAndEmptyArrays') === true;
  return function* (docs) {
    for (const doc of docs) yield* unwound(doc, names, typeof index === 'string' ? index : undefined, keepsEmpty);
  };
}

function* unwound(doc: Doc, path: readonly string[], index: string | undefined, keepsEmpty: boolean): Generator<Doc> {
  const value = valueAtPath(doc, path);
  if (Array.isArray(value)) {
    for (const [position, item] of value.entries())
      yield numbered(withField(doc, path, item), index, Long.fromNumber(position));
    if (value.length === 0 && keepsEmpty) yield numbered(withField(doc, path, undefined), index, null);
  } else if (value !== undefined && value !== null) yield numbered(doc, index, null);
  else if (keepsEmpty) yield numbered(doc, index, null);
}

function numbered(doc: Doc, index: string | undefined, position: Value): Doc {
  return index === undefined ? doc : withValueAt(doc, splitPath(index), position);
}

function withField(doc: Doc, path: readonly string[], value: Value | undefined): Doc {
  const [name = '', ...rest] = path;
  const copy = new MutableDocument(doc);
  const inner = doc.get(name);
  copy.set(name, rest.length > 0 && inner instanceof Map ? withField(inner, rest, value) : value);
  return copy.frozen();
}

/** `$_internalUnpackBucket`: the measurements of buckets, as the views of time-series collections have them. */
export function compileUnpack(operand: Value): RunStage {
  const series = timeSeriesOf(new Map([['timeseries', docOrEmpty(operand)]]));
  if (series === undefined || series.timeField === '')
    throw located(5346508, 'The $_internalUnpackBucket stage requires a timeField parameter');
  return function* (buckets) {
    for (const bucket of buckets) yield* measurementsOf(readBucket(bucket, series), series);
  };
}
