import { rawValue } from '../bson/scan.js';
import { type Delta, deltaBytesMax, deltaStagesMax, fieldsOf } from './delta.js';
import { isRelated, isWithin, type PathChange, pathKey, pathsEqual } from './delta-paths.js';

/** Bytes of an element beside its name and value: its type, and the zero byte after the name. */
const elementOverhead_bytes = 2;

/**
 * Merges two deltas, the earlier first, and may take over its collections. Null when they must stay two updates: they
 * are too large together, or the later one changes what the earlier one removes. Within a pipeline a server may keep
 * the position of a field that a stage removes, in embedded documents too, and a later stage sets it there. After an
 * update the position is lost: the field comes last. And two updates that remove one field remove two of that name.
 *
 * A field or path that both set keeps the position of the first value and has the last value: so the updates of a
 * counter stay one change, however many they are. One that the later delta appends comes last, whatever was before.
 */
export function mergeDeltas(earlier: Delta, later: Delta): Delta | null {
  if (earlier.removed.size > 0 && changesAnyOf(later, earlier.removed)) return null;
  const removed = later.removed.size === 0 ? earlier.removed : new Set([...earlier.removed, ...later.removed]);
  const left = removedAfter(removed, later);
  return earlier.form === 'paths' || later.form === 'paths'
    ? mergedPaths(earlier, later, left)
    : mergedFields(earlier, later, left);
}

/** The removed paths without those that a delta appends. */
function removedAfter(removed: Delta['removed'], later: Delta): Delta['removed'] {
  if (removed.size === 0 || later.form === 'fields') return removed;
  const appended =
    later.form === 'folded'
      ? [...later.append.keys()]
      : later.changes.filter(({ kind }) => kind === 'append').map(({ path }) => pathKey(path));
  if (appended.length === 0) return removed;
  return new Set([...removed].filter((key) => !appended.some((each) => key === each || key.startsWith(`${each}\0`))));
}

type FieldsDelta = Exclude<Delta, { form: 'paths' }>;

function mergedFields(earlier: FieldsDelta, later: FieldsDelta, removed: Delta['removed']): Delta | null {
  const { set, unset, append, moves } = fieldsOf(earlier);
  const { set: laterSet, unset: laterUnset, append: laterAppend, moves: laterMoves } = fieldsOf(later);
  let bytes = earlier.bytes + later.bytes;
  for (const name of [...laterSet.keys(), ...laterAppend.keys()]) {
    const replaced = (set.get(name) ?? append.get(name))?.element;
    if (replaced !== undefined) bytes -= replaced.end - replaced.start + name.length + elementOverhead_bytes;
  }
  if (bytes > deltaBytesMax) return null;
  const movesSome = [...laterAppend.keys()].some((name) => set.has(name) || unset.has(name));
  for (const [name, value] of laterSet) (append.has(name) ? append : set).set(name, value);
  for (const name of laterUnset) {
    append.delete(name);
    unset.add(name);
  }
  for (const [name, value] of laterAppend) {
    for (const part of [set, unset, append]) part.delete(name);
    append.set(name, value);
  }
  return { form: 'folded', set, unset, append, moves: moves || laterMoves || movesSome, bytes, removed };
}

function mergedPaths(earlier: Delta, later: Delta, removed: Delta['removed']): Delta | null {
  let changes = changesOf(earlier);
  let bytes = earlier.bytes + later.bytes;
  for (const change of changesOf(later)) {
    if (change.kind === 'append') {
      for (const { value } of changes.filter(({ path }) => isWithin(path, change.path)))
        bytes -= value?.bytes.length ?? 0;
      changes = changes.filter(({ path }) => !isWithin(path, change.path));
    }
    const at = replaceable(changes, change);
    const replaced = at === null ? undefined : changes[at];
    if (at === null || replaced === undefined) changes.push(change);
    else {
      bytes -= replaced.value?.bytes.length ?? 0;
      changes[at] = { ...change, kind: replaced.kind };
    }
  }
  if (bytes > deltaBytesMax || changes.length > deltaStagesMax) return null;
  return { form: 'paths', changes, bytes, removed };
}

/** The changes one by one, in a new array. */
function changesOf(delta: Delta): PathChange[] {
  if (delta.form === 'paths') return [...delta.changes];
  const { set, unset, append } = fieldsOf(delta);
  const valued = (fields: typeof set, kind: 'set' | 'append'): PathChange[] =>
    [...fields].map(([name, { source, element }]) => ({ path: [name], kind, value: rawValue(source, element) }));
  return [
    ...valued(set, 'set'),
    ...[...unset].map((name): PathChange => ({ path: [name], kind: 'unset' })),
    ...valued(append, 'append'),
  ];
}

/**
 * Index of an earlier change whose value the later one replaces: the later one sets the path that the earlier one sets
 * or appends, and no change between them touches it, what is inside of it or what it is inside of. Null without one.
 */
function replaceable(changes: readonly PathChange[], later: PathChange): number | null {
  if (later.kind !== 'set') return null;
  for (let at = changes.length - 1; at >= 0; at -= 1) {
    const change = changes[at];
    if (change === undefined || !isRelated(change.path, later.path)) continue;
    return change.value !== undefined && pathsEqual(change.path, later.path) ? at : null;
  }
  return null;
}

/** Whether a delta sets or removes one of the paths, or changes a part of one. */
function changesAnyOf(delta: Delta, paths: ReadonlySet<string>): boolean {
  if (delta.form === 'paths')
    return delta.changes.some(({ path, kind }) =>
      path.some(
        (_, depth) => (kind !== 'append' || depth < path.length - 1) && paths.has(pathKey(path.slice(0, depth + 1))),
      ),
    );
  const { set, unset } = fieldsOf(delta);
  return [...set.keys(), ...unset].some((name) => paths.has(name));
}
