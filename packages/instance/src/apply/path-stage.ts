import type { DocumentBuilder } from '../bson/build.js';
import { elementType } from '../bson/element-type.js';
import { elementsOf, nullValue } from '../bson/scan.js';
import { isPlainPath, type PathChange, type PathPart } from './delta-paths.js';

/** Servers refuse commands nested deeper than 200 levels. Command, statement and stage take a few, also in a router. */
const stageLevelsMax = 180;
/** Minimal bytes of one more nested level. */
const levelMin_bytes = 7;
/** Levels of a stage's innermost expression. */
const innermostLevels = 7;
/** Levels more of an expression that appends a field. */
const appendLevels = 8;
/** Names that one expression takes out of a document: each nests it deeper. */
export const takenOutMax = 20;

/**
 * Whether servers accept the stage of one change: every part of a non-plain path nests it deeper, as does the value.
 */
export function isWithinLevels(change: PathChange): boolean {
  if (isPlainPath(change)) return true;
  const { path, value } = change;
  const levelsLeft = path.reduce<number>(
    (left, part) => left - (typeof part === 'number' ? 5 : 4),
    stageLevelsMax - innermostLevels - (change.kind === 'append' ? appendLevels : 0),
  );
  if (levelsLeft < 0 || value === undefined) return levelsLeft >= 0;
  return value.bytes.length < levelsLeft * levelMin_bytes || levelsOf(value.type, value.bytes) <= levelsLeft;
}

function levelsOf(type: number, bytes: Uint8Array): number {
  if (type !== elementType.document && type !== elementType.array) return 0;
  let deepest = 0;
  for (const element of elementsOf(bytes))
    deepest = Math.max(deepest, levelsOf(element.type, bytes.subarray(element.start, element.end)));
  return 1 + deepest;
}

/** More elements than any array has: `$slice` requires a number. */
const toTheEnd = 0x7fffffff;

/**
 * Writes `{$replaceWith: …}` for one change. Its expressions name every field literally, with dots and dollars, and
 * every element by index. Fields keep their position; new and appended ones come last. Needs 5.0 or later.
 */
export function writePathStage(builder: DocumentBuilder, change: PathChange): void {
  writeChanged(builder, '$replaceWith', '$$ROOT', change, 0);
}

/**
 * Writes, as the field `name`, the value of `input` after the change.
 * @param input a variable
 * @param depth how many parts of the change's path lead to `input`
 */
function writeChanged(builder: DocumentBuilder, name: string, input: string, change: PathChange, depth: number): void {
  const part = change.path[depth];
  const isLast = depth === change.path.length - 1;
  if (part === undefined) writeValue(builder, name, input, change);
  else if (typeof part === 'number') writeElementChanged(builder, name, input, change, depth, part);
  else if (change.kind === 'unset' && isLast)
    writeFieldCall(builder, name, '$unsetField', part, input, () => undefined);
  else if (change.kind === 'append' && isLast) writeAppended(builder, name, input, part, change);
  else {
    writeFieldCall(builder, name, '$setField', part, input, () => {
      writeInner(builder, 'value', change, depth, (field) =>
        writeFieldCall(builder, field, '$getField', part, input, () => undefined),
      );
    });
  }
}

function writeAppended(builder: DocumentBuilder, name: string, input: string, field: string, change: PathChange): void {
  builder.begin(name).begin('$setField').begin('field').string('$literal', field).end();
  writeWithout(builder, 'input', input, [field]);
  writeValue(builder, 'value', '', change);
  builder.end().end();
}

/**
 * Writes, as the field `name`, the document `input` without some of its fields, and without their places. A removed
 * field may keep its place, where a set would put it again; `$mergeObjects` makes a new document of what is left. A
 * document that has none of the fields stays as it is, with the names that it repeats.
 * @param input a variable or the path of a field
 */
export function writeWithout(builder: DocumentBuilder, name: string, input: string, fields: readonly string[]): void {
  builder.begin(name).begin('$cond', elementType.array).begin('0').begin('$and', elementType.array);
  for (const [index, field] of fields.entries()) {
    builder.begin(String(index)).begin('$eq', elementType.array).begin('0');
    writeFieldCall(builder, '$type', '$getField', field, input, () => undefined);
    builder.end().string('1', 'missing').end().end();
  }
  builder.end().end().string('1', input).begin('2').begin('$mergeObjects', elementType.array);
  writeUnset(builder, '0', input, fields);
  builder.end().end().end().end();
}

function writeUnset(builder: DocumentBuilder, name: string, input: string, fields: readonly string[]): void {
  const [field, ...others] = fields;
  if (field === undefined) {
    builder.string(name, input);
    return;
  }
  builder.begin(name).begin('$unsetField').begin('field').string('$literal', field).end();
  writeUnset(builder, 'input', input, others);
  builder.end().end();
}

/** `[…input up to the index, changed element, …rest]`; nulls fill a gap after the last element. */
function writeElementChanged(
  builder: DocumentBuilder,
  name: string,
  input: string,
  change: PathChange,
  depth: number,
  index: number,
): void {
  const parts: ((part: string) => void)[] = [];
  if (index > 0) {
    parts.push(
      (part) => writeCall(builder, part, '$slice', () => builder.string('0', input).int32('1', index)),
      (part) => writeNulls(builder, part, input, index),
    );
  }
  parts.push((part) => {
    builder.begin(part, elementType.array);
    writeInner(builder, '0', change, depth, (field) =>
      writeCall(builder, field, '$arrayElemAt', () => builder.string('0', input).int32('1', index)),
    );
    builder.end();
  });
  parts.push((part) =>
    writeCall(builder, part, '$slice', () =>
      builder
        .string('0', input)
        .int32('1', index + 1)
        .int32('2', toTheEnd),
    ),
  );
  builder.begin(name).begin('$concatArrays', elementType.array);
  parts.forEach((write, position) => write(String(position)));
  builder.end().end();
}

/** Nulls that extend the array to `size` elements. */
function writeNulls(builder: DocumentBuilder, name: string, input: string, size: number): void {
  builder.begin(name).begin('$map').begin('input').begin('$range', elementType.array);
  builder.begin('0').string('$size', input).end().int32('1', size);
  builder.end().end().begin('in').raw('$literal', nullValue).end().end().end();
}

/**
 * Writes the value one part further on the path. A set does not need the old value; other changes bind it to a
 * variable.
 */
function writeInner(
  builder: DocumentBuilder,
  name: string,
  change: PathChange,
  depth: number,
  writeBefore: (field: string) => void,
): void {
  const isLast = depth === change.path.length - 1;
  if (isLast && change.kind === 'set') {
    writeValue(builder, name, '', change);
    return;
  }
  const variable = `part${depth}`;
  builder.begin(name).begin('$let').begin('vars');
  writeBefore(variable);
  builder.end();
  writeChanged(builder, 'in', `$$${variable}`, change, depth + 1);
  builder.end().end();
}

/**
 * Writes, as the field `name`, the value of a set, or the rest of a truncated array.
 * @param input the expression of the old value
 */
export function writeValue(
  builder: DocumentBuilder,
  name: string,
  input: string,
  { value, newSize = 0 }: PathChange,
): void {
  if (value !== undefined) builder.begin(name).raw('$literal', value).end();
  else if (newSize === 0) builder.begin(name).begin('$literal', elementType.array).end().end();
  else writeCall(builder, name, '$slice', () => builder.string('0', input).int32('1', newSize));
}

function writeFieldCall(
  builder: DocumentBuilder,
  name: string,
  operator: '$getField' | '$setField' | '$unsetField',
  field: PathPart,
  input: string,
  writeMore: () => void,
): void {
  builder.begin(name).begin(operator).begin('field').string('$literal', String(field)).end().string('input', input);
  writeMore();
  builder.end().end();
}

function writeCall(builder: DocumentBuilder, name: string, operator: string, writeArguments: () => void): void {
  builder.begin(name).begin(operator, elementType.array);
  writeArguments();
  builder.end().end();
}
