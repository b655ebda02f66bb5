import { Long } from 'bson';
import type { Doc, Value } from '../bson/value.js';
import { MutableDocument } from '../expression/mutable-document.js';
import { located } from '../query/query-error.js';
import { splitPath, valueAtPath, withValueAt } from '../query/document-path.js';
import type { RunStage } from './stage.js';

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
