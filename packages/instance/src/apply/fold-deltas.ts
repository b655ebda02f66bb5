import { rawValue } from '../bson/scan.js';
import { type Delta, deltaBytesMax, deltaStagesMax, fieldsOf, stagesOfFields } from './delta.js';
import { isRelated, type PathChange, pathKey, pathsEqual } from './delta-paths.js';

/** Bytes of an element beside its name and value: its type, and the zero byte after the name. */
const elementOverhead_bytes = 2;

/**
 * Merges two deltas, the earlier first, and may take over its collections. Null when they must stay two updates: they
 * are too large together, or the later one changes what the earlier one removes. Within a pipeline a server keeps the
 * position of a field that a stage removes, in embedded documents too, and a later stage sets it there. After an update
 * the position is lost: the field comes last. And two updates that remove one field remove two fields of that name.
 *
 * A field or path that both set keeps the position of the first value and has the last value: so the updates of a
 * counter stay one change, however many they are.
 */
export function mergeDeltas(earlier: Delta, later: Delta): Delta | null {
  if (earlier.removed.size > 0 && changesAnyOf(later, earlier.removed)) return null;
  const removed = later.removed.size === 0 ? earlier.removed : new Set([...earlier.removed, ...later.removed]);
  return earlier.form === 'paths' || later.form === 'paths'
    ? mergedPaths(earlier, later, removed)
    : mergedFields(earlier, later, removed);
}

type FieldsDelta = Exclude<Delta, { form: 'paths' }>;

function mergedFields(earlier: FieldsDelta, later: FieldsDelta, removed: Delta['removed']): Delta | null {
  const { set, unset } = fieldsOf(earlier);
  const { set: laterSet, unset: laterUnset } = fieldsOf(later);
  let bytes = earlier.bytes + later.bytes;
  for (const name of laterSet.keys()) {
    const replaced = set.get(name)?.element;
    if (replaced !== undefined) bytes -= replaced.end - replaced.start + name.length + elementOverhead_bytes;
  }
  if (bytes > deltaBytesMax) return null;
  for (const [name, value] of laterSet) set.set(name, value);
  for (const name of laterUnset) unset.add(name);
  return { form: 'folded', set, unset, bytes, stages: stagesOfFields, removed };
}

function mergedPaths(earlier: Delta, later: Delta, removed: Delta['removed']): Delta | null {
  const changes = changesOf(earlier);
  let bytes = earlier.bytes + later.bytes;
  for (const change of changesOf(later)) {
    const at = replaceable(changes, change);
    if (at === null) changes.push(change);
    else {
      bytes -= changes[at]?.value?.bytes.length ?? 0;
      changes[at] = change;
    }
  }
  if (bytes > deltaBytesMax || changes.length > deltaStagesMax) return null;
  return { form: 'paths', changes, bytes, stages: changes.length, removed };
}

/** The changes one by one, in a new array. */
function changesOf(delta: Delta): PathChange[] {
  if (delta.form === 'paths') return [...delta.changes];
  const { set, unset } = fieldsOf(delta);
  return [
    ...[...set].map(([name, { source, element }]): PathChange => {
      return { path: [name], kind: 'set', value: rawValue(source, element) };
    }),
    ...[...unset].map((name): PathChange => ({ path: [name], kind: 'unset' })),
  ];
}

/**
 * Index of an earlier change whose value the later one replaces: both set the same path, and no change between them
 * touches it, what is inside of it or what it is inside of. Null without one.
 */
function replaceable(changes: readonly PathChange[], later: PathChange): number | null {
  if (later.kind !== 'set') return null;
  for (let at = changes.length - 1; at >= 0; at -= 1) {
    const change = changes[at];
    if (change === undefined || !isRelated(change.path, later.path)) continue;
    return change.kind === 'set' && pathsEqual(change.path, later.path) ? at : null;
  }
  return null;
}

/** Whether a delta sets or removes one of the paths, or a part of one. */
function changesAnyOf(delta: Delta, paths: ReadonlySet<string>): boolean {
  if (delta.form === 'paths')
    return delta.changes.some(({ path }) => path.some((_, depth) => paths.has(pathKey(path.slice(0, depth + 1)))));
  const { set, unset } = fieldsOf(delta);
  return [...set.keys(), ...unset].some((name) => paths.has(name));
}
