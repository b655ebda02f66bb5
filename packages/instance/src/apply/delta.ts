import {
  cstringEnd,
  elementEnd,
  elementsOf,
  findElement,
  isNamed,
  type RawElement,
  readDocument,
  readString,
} from '../bson/scan.js';
import type { ShardKeyField } from '../bson/shard-key.js';
import { isPlainName, type PathChange, pathChanges, pathKey, touchesPath } from './delta-paths.js';
import { isWithinLevels } from './path-stage.js';

/** One update's changes, in the server's order. */
export type DeltaStep =
  /** Whole top-level fields with plain names: views of `updatedFields` and `removedFields`, null when empty. */
  | { form: 'fields'; updated: Uint8Array | null; removed: Uint8Array | null }
  | { form: 'paths'; changes: readonly PathChange[] };

/** Consecutive updates of one document that can be replayed exactly. */
export interface Delta {
  steps: readonly DeltaStep[];
  bytes: number;
  /** Upper bound of the pipeline's stages. */
  stages: number;
  /** Keys (`pathKey`) of the removed paths. */
  removed: ReadonlySet<string>;
}

/**
 * Larger updates are re-read instead, or sent one after the other: pipelines have limits of 125 MB in buffers and 16 MB
 * in the command.
 */
const deltaBytesMax = 4 * 1024 * 1024;
/** Far below the servers' limit of 1,000 stages. */
const deltaStagesMax = 200;
/** A set and an unset. */
const stagesOfFields = 2;
const nothing: ReadonlySet<string> = new Set();

/** The fields of an update description that are read. */
const parts = ['updatedFields', 'removedFields', 'truncatedArrays', 'disambiguatedPaths'] as const;
type Description = Partial<Record<(typeof parts)[number], RawElement>>;

/**
 * The delta of an `updateDescription`. Null when it cannot be replayed exactly: it is too large or too deep, or a
 * server before 6.1 leaves open whether a dot separates a path or belongs to a name.
 */
export function exactDelta(updateDescription: Uint8Array): Delta | null {
  const bytes = updateDescription.length;
  if (bytes > deltaBytesMax) return null;
  const description = describe(updateDescription);
  const view = (element: RawElement | undefined): Uint8Array | null =>
    element === undefined || isEmpty(element) ? null : readDocument(updateDescription, element);
  const updated = view(description.updatedFields);
  const removed = view(description.removedFields);
  const truncated = view(description.truncatedArrays);
  if (removed !== null && updated !== null && isAnySetAndRemoved(updated, removed)) return null;
  const names = removed === null ? [] : [...elementsOf(removed)].map((element) => readString(removed, element));
  if (truncated === null && isPlain(updated) && names.every(isPlainName)) {
    return {
      steps: [{ form: 'fields', updated, removed }],
      bytes,
      stages: stagesOfFields,
      removed: names.length === 0 ? nothing : new Set(names),
    };
  }
  const { disambiguatedPaths } = description;
  const disambiguated = disambiguatedPaths === undefined ? null : readDocument(updateDescription, disambiguatedPaths);
  const changes = pathChanges({ updated, removed, truncated, disambiguated });
  if (changes === null || changes.length > deltaStagesMax || !changes.every(isWithinLevels)) return null;
  const unset = changes.filter(({ kind }) => kind === 'unset').map(({ path }) => pathKey(path));
  return { steps: [{ form: 'paths', changes }], bytes, stages: changes.length, removed: new Set(unset) };
}

function describe(bytes: Uint8Array): Description {
  const description: Description = {};
  for (let at = 4; bytes[at] !== 0;) {
    const type = bytes[at] ?? 0;
    const nameStart = at + 1;
    const start = cstringEnd(bytes, nameStart) + 1;
    at = elementEnd(bytes, type, start);
    const part = parts.find((name) => isNamed(bytes, nameStart, name));
    if (part !== undefined) description[part] = { type, start, end: at };
  }
  return description;
}

/** An empty document or array is a length and a zero byte. */
function isEmpty({ start, end }: RawElement): boolean {
  return end - start <= 5;
}

function isAnySetAndRemoved(updated: Uint8Array, removed: Uint8Array): boolean {
  for (const element of elementsOf(removed))
    if (findElement(updated, readString(removed, element)) !== null) return true;
  return false;
}

const [dollar, dot] = [0x24, 0x2e];

/** Whether all names of a document are plain. Works on bytes, because nearly all updates take this path. */
function isPlain(fields: Uint8Array | null): boolean {
  if (fields === null) return true;
  for (let at = 4; fields[at] !== 0;) {
    const nameEnd = plainNameEnd(fields, at + 1);
    if (nameEnd === null) return false;
    at = elementEnd(fields, fields[at] ?? 0, nameEnd + 1);
  }
  return true;
}

/** Position of the zero byte after a plain name; null for other names. */
function plainNameEnd(bytes: Uint8Array, start: number): number | null {
  if (bytes[start] === 0 || bytes[start] === dollar || isNamed(bytes, start, '_id')) return null;
  const end = cstringEnd(bytes, start);
  for (let at = start; at < end; at += 1) if (bytes[at] === dot) return null;
  return end;
}

/** Whether the delta changes a field of the shard key. */
export function touchesKey(delta: Delta, key: readonly ShardKeyField[]): boolean {
  return key.some(({ field }) => field !== '_id' && delta.steps.some((step) => touchesField(step, field)));
}

function touchesField(step: DeltaStep, field: string): boolean {
  const path = field.split('.');
  if (step.form === 'paths') return step.changes.some((change) => touchesPath(change, path));
  const [top = field] = path;
  if (step.updated !== null && findElement(step.updated, top) !== null) return true;
  if (step.removed === null) return false;
  for (const element of elementsOf(step.removed)) if (readString(step.removed, element) === top) return true;
  return false;
}

/**
 * Merges two deltas, the earlier first. Null when they must stay two updates: they are too large together, or the later
 * one sets what the earlier one removes. Within a pipeline a server keeps the position of a field that a stage removes,
 * in embedded documents too, and a later stage sets it there. After an update the position is lost: the field comes
 * last.
 */
export function mergeDeltas(earlier: Delta, later: Delta): Delta | null {
  const bytes = earlier.bytes + later.bytes;
  const stages = earlier.stages + later.stages;
  if (bytes > deltaBytesMax || stages > deltaStagesMax) return null;
  if (earlier.removed.size > 0 && later.steps.some((step) => setsAnyOf(step, earlier.removed))) return null;
  const removed = later.removed.size === 0 ? earlier.removed : new Set([...earlier.removed, ...later.removed]);
  return { steps: [...earlier.steps, ...later.steps], bytes, stages, removed };
}

/** Whether a step sets one of the paths, or a part of one. */
function setsAnyOf(step: DeltaStep, paths: ReadonlySet<string>): boolean {
  if (step.form === 'paths')
    return step.changes.some(({ path }) => path.some((_, depth) => paths.has(pathKey(path.slice(0, depth + 1)))));
  if (step.updated !== null) for (const { name } of elementsOf(step.updated)) if (paths.has(name)) return true;
  return false;
}
