import { Binary, Int32 } from 'bson';
import { type Doc, type Value } from '../bson/value.js';
import { doc, docOrEmpty } from '../node/doc-fields.js';
import { assembleDiff, type Diff, sameBytes } from '../update/diff.js';

/**
 * What servers log of measurements that join a bucket: new values of open columns, and since 8.0 where the bytes of a
 * compressed column change and how they go on (`b`).
 */
export function bucketDiff(before: Doc, after: Doc): Diff {
  const [wasControl, isControl] = [before, after].map((bucket) => docOrEmpty(bucket.get('control')));
  const [wasData, isData] = [before, after].map((bucket) => docOrEmpty(bucket.get('data')));
  const inner: Doc = new Map();
  add(inner, 'scontrol', controlDiff(docOrEmpty(wasControl), docOrEmpty(isControl)));
  add(inner, 'sdata', dataDiff(docOrEmpty(wasData), docOrEmpty(isData)));
  return inner;
}

function add(to: Doc, name: string, diff: Diff): void {
  if (diff.size > 0) to.set(name, diff);
}

function controlDiff(before: Doc, after: Doc): Diff {
  const updated: Doc = new Map();
  const inner: Doc = new Map();
  for (const name of ['version', 'count']) {
    const value = after.get(name);
    if (value !== undefined && !sameBytes(before.get(name) ?? null, value)) updated.set(name, value);
  }
  for (const name of ['min', 'max'])
    add(inner, `s${name}`, fieldsDiff(docOrEmpty(before.get(name)), docOrEmpty(after.get(name))));
  return assembleDiff(new Map(), updated, new Map(), inner);
}

function fieldsDiff(before: Doc, after: Doc): Diff {
  const updated: Doc = new Map();
  const inserted: Doc = new Map();
  for (const [name, value] of after) {
    const known = before.get(name);
    if (known === undefined) inserted.set(name, value);
    else if (!sameBytes(known, value)) updated.set(name, value);
  }
  return assembleDiff(new Map(), updated, inserted, new Map());
}

function dataDiff(before: Doc, after: Doc): Diff {
  const inserted: Doc = new Map();
  const inner: Doc = new Map();
  const grown: Doc = new Map();
  for (const [name, column] of after) {
    const known = before.get(name);
    if (known === undefined) inserted.set(name, column);
    else if (known instanceof Binary && column instanceof Binary) grown.set(name, binaryDiff(known, column));
    else add(inner, `s${name}`, fieldsDiff(docOrEmpty(known), docOrEmpty(column)));
  }
  const sections = assembleDiff(new Map(), new Map(), inserted, inner);
  return grown.size === 0 ? sections : new Map<string, Value>([...sections, ['b', grown]]);
}

/** From which byte on the binary data differ, and the new bytes from there on. */
function binaryDiff(before: Binary, after: Binary): Doc {
  const [old, now] = [before.value(), after.value()];
  let offset = 0;
  while (offset < old.length && offset < now.length && old[offset] === now[offset]) offset += 1;
  return doc(['o', new Int32(offset)], ['d', new Binary(now.subarray(offset))]);
}
