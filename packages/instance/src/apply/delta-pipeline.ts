import type { DocumentBuilder } from '../bson/build.js';
import { elementType } from '../bson/element-type.js';
import { undecodedElementsOf } from '../bson/scan.js';
import type { Delta, Folded } from './delta.js';
import { writeOperators } from './delta-operators.js';
import { isPlainPath, type PathChange, pathKey } from './delta-paths.js';
import { takenOutMax, writePathStage, writeValue, writeWithout } from './path-stage.js';

/** Writes the delta as the field `u` of a statement: as operators where these are exact, otherwise as a pipeline. */
export function writeDelta(builder: DocumentBuilder, delta: Delta): void {
  if (writeOperators(builder, delta)) return;
  builder.begin('u', elementType.array);
  writeStages(builder, delta);
  builder.end();
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
