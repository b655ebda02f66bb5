import { encodeKeyString } from '../bson/key-string.js';
import { isNumber, toNumber } from '../bson/exact-number.js';
import { type Doc, UndefinedValue, type Value } from '../bson/value.js';
import { compileExpression } from '../expression/evaluate.js';
import { makeVariables } from '../expression/variables.js';
import { unsimulated } from '../node/unsimulated.js';
import { anyAtPath, splitPath, valuesAlong, withValueAt } from '../query/document-path.js';
import { isNullStrict } from '../query/comparison.js';
import { badValue, failedToParse, located } from '../query/query-error.js';
import { expressionContext, type PipelineContext, type RunStage } from './stage.js';

const known = ['from', 'as', 'startWith', 'connectFromField', 'connectToField', 'maxDepth'];
const refused = ['depthField', 'restrictSearchWithMatch'];

/** `$graphLookup`: what can be reached over equal fields of another collection, breadth first. */
export function compileGraphLookup(operand: Value, context: PipelineContext): RunStage {
  if (!(operand instanceof Map)) throw failedToParse('the $graphLookup stage specification must be an object');
  for (const name of operand.keys()) {
    if (refused.includes(name)) throw unsimulated(`$graphLookup.${name}`);
    if (!known.includes(name)) throw located(40104, `Unknown argument to $graphLookup: ${name}`);
  }
  const [from, as, fromField, toField] = ['from', 'as', 'connectFromField', 'connectToField'].map((name) =>
    text(operand, name),
  ) as [string, string, string, string];
  const expressions = expressionContext(context);
  const start = compileExpression(operand.get('startWith') ?? null, expressions);
  const depth = operand.get('maxDepth');
  const depthMax = isNumber(depth) ? toNumber(depth) : Infinity;
  const search = {
    toField,
    nullIsStrict: isNullStrict(context.version),
    fromField,
    depthMax,
  };
  return function* (docs) {
    for (const doc of docs) {
      const foreign = context.lookup?.(from) ?? [];
      const begun = start(makeVariables(doc, expressions)) ?? null;
      yield withValueAt(doc, splitPath(as), reached(Array.isArray(begun) ? begun : [begun], foreign, search));
    }
  };
}

interface Search {
  readonly toField: string;
  readonly nullIsStrict: boolean;
  readonly fromField: string;
  readonly depthMax: number;
}

function reached(start: readonly Value[], foreign: Iterable<Doc>, search: Search): Doc[] {
  const byKey = new Map<string, Doc[]>();
  for (const doc of foreign) {
    for (const key of keysThatMatch(doc, search)) {
      const same = byKey.get(key);
      if (same === undefined) byKey.set(key, [doc]);
      else same.push(doc);
    }
  }
  const found = new Set<Doc>();
  let frontier = start.map(wantedKey);
  for (let depth = 0; depth <= search.depthMax && frontier.length > 0; depth += 1) {
    const next: Doc[] = [];
    for (const doc of frontier.flatMap((key) => byKey.get(key) ?? [])) {
      if (found.has(doc)) continue;
      found.add(doc);
      next.push(doc);
    }
    frontier = next.flatMap((doc) => valuesAlong(doc, splitPath(search.fromField)).map(wantedKey));
  }
  return [...found];
}

/** The keys of all values with which a query for the field finds the document. */
function keysThatMatch(doc: Doc, { toField, nullIsStrict }: Search): ReadonlySet<string> {
  const keys = new Set<string>();
  anyAtPath(doc, splitPath(toField), true, (value) => {
    keys.add(keyOf(value === undefined || (value instanceof UndefinedValue && !nullIsStrict) ? null : value));
    return false;
  });
  return keys;
}

/** The search is for the list of an `$in`. */
function wantedKey(value: Value): string {
  if (value instanceof UndefinedValue) throw badValue('InMatchExpression equality cannot be undefined');
  return keyOf(value);
}

function keyOf(value: Value): string {
  return encodeKeyString([value]).toString('latin1');
}

function text(operand: Doc, name: string): string {
  const value = operand.get(name);
  if (typeof value === 'string') return value;
  throw failedToParse(`$graphLookup argument '${name}' must be a string`);
}
