import { DocumentBuilder } from '../bson/build.js';
import { elementType } from '../bson/element-type.js';
import { bufferOf, cstringEnd, elementsOf, readString, undecodedElementsOf } from '../bson/scan.js';
import { areApart, isOperatorPath, isPlainPath, type PathChange, pathKey } from './delta-paths.js';
import type { Delta, FieldValue, Folded } from './delta.js';
import { takenOutMax, writePathStage, writeValue, writeWithout } from './path-stage.js';

/** Writes the delta as the field `u` of a statement: as operators where these are exact, otherwise as a pipeline. */
export function writeDelta(builder: DocumentBuilder, delta: Delta): void {
  if (writeOperators(builder, delta)) return;
  builder.begin('u', elementType.array);
  writeStages(builder, delta);
  builder.end();
}

/** Fields whose absence a filter asks for; a filter with more costs more than a pipeline. */
const absentMax = 20;

/** Of a condition on an absent field, about. */
const absentBytes = 48;

const [digit0, digit9] = [0x30, 0x39];

/** A field, and the bytes that it is in. */
interface PlacedField {
  source: Uint8Array;
  element: { nameStart: number };
}

/**
 * Writes a delta as the field `u`: `{$set: {field: value, …}, $unset: {field: '', …}}`.
 *
 * For operators a server does not compare the whole document before and after, as it does for a pipeline. And they
 * change only the first of several fields with one name, as on the source: a pipeline that changes two of them ends a
 * member of 5.0.
 *
 * @returns false, with nothing written, when the operators may not give the same document: `$set` adds new fields in
 * the order of their names, so only deltas in this order are exact, and those of fields and elements that are there
 */
function writeOperators(builder: DocumentBuilder, delta: Delta): boolean {
  switch (delta.form) {
    case 'fields':
      return setAndUnsetFields(builder, delta);
    case 'folded':
      return delta.append.size === 0 && setAndUnset(builder, delta);
    case 'paths':
      return delta.setsPresent && setAndUnsetPaths(builder, delta.changes);
  }
}

/** What is there keeps its place, in whatever order operators set it. */
function setAndUnsetPaths(builder: DocumentBuilder, changes: readonly PathChange[]): boolean {
  const isForOperators = (change: PathChange): boolean =>
    (change.kind === 'set' || change.kind === 'unset') && isOperatorPath(change);
  if (!changes.every(isForOperators) || !areApart(changes)) return false;
  const unset = changes.filter(({ kind }) => kind === 'unset').map(({ path }) => path.join('.'));
  builder.begin('u');
  if (unset.length < changes.length) {
    builder.begin('$set');
    for (const { path, value } of changes) if (value !== undefined) builder.raw(path.join('.'), value);
    builder.end();
  }
  if (unset.length > 0) writeUnset(builder, unset);
  builder.end();
  return true;
}

function setAndUnsetFields(builder: DocumentBuilder, { updated, removedFields }: Delta & { form: 'fields' }): boolean {
  // An update without operators would replace the document.
  if (updated === null ? removedFields === null : !isInServerOrder(fieldsIn(updated))) return false;
  builder.begin('u');
  if (updated !== null) builder.document('$set', updated);
  if (removedFields !== null) writeUnset(builder, namesIn(removedFields));
  builder.end();
  return true;
}

function setAndUnset(builder: DocumentBuilder, delta: Folded): boolean {
  const { unset, append } = delta;
  const left = leftOf(delta);
  if (!isInServerOrder(left)) return false;
  left.push(...append.values());
  if (left.length === 0 && unset.size === 0) return false;
  builder.begin('u');
  if (left.length > 0) {
    builder.begin('$set');
    for (const { source, element } of left) builder.copied(source, element.nameStart, element);
    builder.end();
  }
  if (unset.size > 0) writeUnset(builder, unset);
  builder.end();
  return true;
}

/** A field that a fold sets and then removes is removed. */
function leftOf({ set, unset }: Folded): FieldValue[] {
  const left: FieldValue[] = [];
  for (const [name, value] of set) if (!unset.has(name)) left.push(value);
  return left;
}

/**
 * Whether operators make the change if the document has none of the fields that come last: then they are new. Only the
 * destination's document shows that, so the statement's filter asks for it (`absentFilter`).
 */
export function needsAbsence(delta: Delta): delta is Delta & Folded {
  if (delta.form !== 'folded' || delta.moves) return false;
  const { append } = delta;
  return (
    append.size > 0 && append.size <= absentMax && isInServerOrder(leftOf(delta)) && isInServerOrder(append.values())
  );
}

/** Writes the change of a document that has none of the fields that come last, as `writeOperators` does. */
export function writeForAbsent(builder: DocumentBuilder, delta: Folded): void {
  setAndUnset(builder, delta);
}

/** The filter of a document that has none of the fields that come last. */
export function absentFilter(filter: Uint8Array, { append }: Folded): Uint8Array {
  const builder = new DocumentBuilder(filter.length + append.size * absentBytes);
  for (const element of undecodedElementsOf(filter)) builder.copied(filter, element.nameStart, element);
  for (const name of append.keys()) builder.begin(name).bool('$exists', false).end();
  return builder.finish();
}

function* namesIn(names: Uint8Array): Generator<string> {
  for (const element of elementsOf(names)) yield readString(names, element);
}

function writeUnset(builder: DocumentBuilder, names: Iterable<string>): void {
  builder.begin('$unset');
  for (const name of names) builder.string(name, '');
  builder.end();
}

function* fieldsIn(source: Uint8Array): Generator<PlacedField> {
  for (const element of undecodedElementsOf(source)) yield { source, element };
}

/** Whether servers handle the fields of a `$set` in the order given: by the bytes of their names. */
function isInServerOrder(fields: Iterable<PlacedField>): boolean {
  let before: Buffer | null = null;
  for (const { source, element } of fields) {
    const name = bufferOf(source).subarray(element.nameStart, cstringEnd(source, element.nameStart));
    if (before !== null && !isBefore(before, name)) return false;
    before = name;
  }
  return true;
}

/** False also for two names that begin with a digit: servers may order these by their numbers. */
function isBefore(name: Buffer, next: Buffer): boolean {
  return !(startsWithDigit(name) && startsWithDigit(next)) && name.compare(next) < 0;
}

function startsWithDigit([first = 0]: Buffer): boolean {
  return first >= digit0 && first <= digit9;
}

/**
 * Writes the delta as the stages of an update pipeline into an array that the caller has opened:
 * `[{$set: {field: {$literal: value}, …}}, {$unset: [names]}]` for plain names, expressions for others. A pipeline's
 * `$set` adds new fields in the given order; the `$set` operator would sort them.
 */
export function writeStages(builder: DocumentBuilder, delta: Delta): void {
  const stages = new StageWriter(builder);
  if (delta.form === 'fields') writeFields(stages, delta);
  else if (delta.form === 'folded') writeFolded(stages, delta);
  else writePaths(stages, delta.changes);
}

class StageWriter {
  #count = 0;

  constructor(readonly builder: DocumentBuilder) {}

  write(content: (builder: DocumentBuilder) => void): void {
    this.builder.begin(String(this.#count));
    content(this.builder);
    this.builder.end();
    this.#count += 1;
  }
}

function writeFields(stages: StageWriter, { updated, removedFields }: Delta & { form: 'fields' }): void {
  if (updated !== null) {
    stages.write((builder) => {
      builder.begin('$set');
      for (const element of undecodedElementsOf(updated)) builder.copiedAsLiteral(updated, element.nameStart, element);
      builder.end();
    });
  }
  if (removedFields !== null) stages.write((builder) => builder.document('$unset', removedFields, elementType.array));
}

/**
 * Writes several updates as one set and one unset, and one set of what comes last. `mergeDeltas` never sets a removed
 * field again.
 */
function writeFolded(stages: StageWriter, { set, unset, append }: Folded): void {
  if (set.size > 0) {
    stages.write((builder) => {
      builder.begin('$set');
      for (const { source, element } of set.values()) builder.copiedAsLiteral(source, element.nameStart, element);
      builder.end();
    });
  }
  if (unset.size > 0) stages.write((builder) => writeNames(builder, [...unset]));
  if (append.size === 0) return;
  writeTakenOut(stages, [], [...append.keys()]);
  stages.write((builder) => {
    builder.begin('$set');
    for (const { source, element } of append.values()) builder.copiedAsLiteral(source, element.nameStart, element);
    builder.end();
  });
}

/** Takes fields out of the document at a path, so that a later stage sets them behind all others. */
function writeTakenOut(stages: StageWriter, path: PathChange['path'], names: readonly string[]): void {
  const text = path.join('.');
  for (let at = 0; at < names.length; at += takenOutMax) {
    const some = names.slice(at, at + takenOutMax);
    stages.write((builder) => {
      if (path.length === 0) {
        writeWithout(builder, '$replaceWith', '$$ROOT', some);
        return;
      }
      builder.begin('$set');
      writeWithout(builder, text, `$${text}`, some);
      builder.end();
    });
  }
}

function writeNames(builder: DocumentBuilder, names: readonly string[]): void {
  builder.begin('$unset', elementType.array);
  names.forEach((name, index) => builder.string(String(index), name));
  builder.end();
}

function writePaths(stages: StageWriter, changes: readonly PathChange[]): void {
  let at = 0;
  for (let change = changes[at]; change !== undefined; change = changes[at]) {
    const run = plainRun(changes, at);
    if (run.length === 0) {
      const single = change;
      stages.write((builder) => writePathStage(builder, single));
    } else {
      if (change.kind === 'append') writeAllTakenOut(stages, run);
      stages.write((builder) => writePlainRun(builder, run));
    }
    at += Math.max(1, run.length);
  }
}

/** Takes the fields of a run out of their documents. */
function writeAllTakenOut(stages: StageWriter, run: readonly PathChange[]): void {
  const documents = new Map<string, { path: PathChange['path']; names: string[] }>();
  for (const { path } of run) {
    const at = path.slice(0, -1);
    const document = documents.get(pathKey(at)) ?? { path: at, names: [] };
    document.names.push(String(path.at(-1)));
    documents.set(pathKey(at), document);
  }
  for (const { path, names } of documents.values()) writeTakenOut(stages, path, names);
}

/**
 * The changes from an index on that one stage can make: plain paths only, either all unset, all appended or neither,
 * and none inside of another.
 */
function plainRun(changes: readonly PathChange[], from: number): PathChange[] {
  const run: PathChange[] = [];
  const taken = new Set<string>();
  const leadThere = new Set<string>();
  for (const change of changes.slice(from)) {
    const fits = run[0] === undefined || stageKind(run[0]) === stageKind(change);
    if (!isPlainPath(change) || !fits) break;
    const keys = change.path.map((_, depth) => pathKey(change.path.slice(0, depth + 1)));
    if (leadThere.has(pathKey(change.path)) || keys.some((key) => taken.has(key))) break;
    taken.add(pathKey(change.path));
    for (const key of keys) leadThere.add(key);
    run.push(change);
  }
  return run;
}

/** Sets and truncations are made by the same stage. */
function stageKind({ kind }: PathChange): PathChange['kind'] {
  return kind === 'truncate' ? 'set' : kind;
}

function writePlainRun(builder: DocumentBuilder, run: readonly PathChange[]): void {
  if (run[0]?.kind === 'unset') {
    writeNames(
      builder,
      run.map(({ path }) => path.join('.')),
    );
    return;
  }
  builder.begin('$set');
  for (const change of run) writeValue(builder, change.path.join('.'), `$${change.path.join('.')}`, change);
  builder.end();
}
