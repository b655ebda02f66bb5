import { Binary, Int32 } from 'bson';
import { type Doc, type Value } from '../bson/value.js';
import { doc, docOrEmpty } from '../node/doc-fields.js';
import { assembleDiff, type Diff, sameBytes } from '../update/diff.js';
import type { Bucket } from './bucket.js';

/** A bucket with its document. */
export interface DocumentedBucket {
  readonly bucket: Bucket;
  readonly document: Doc;
}

/**
 * What servers log of measurements that join a bucket: new values of open columns, and since 8.0 where the bytes of a
 * compressed column change and how they go on (`b`).
 */
export function bucketDiff(before: DocumentedBucket, after: DocumentedBucket): Diff {
  const part = ({ document }: DocumentedBucket, name: string): Doc => docOrEmpty(document.get(name));
  const inner: Doc = new Map();
  add(inner, 'scontrol', controlDiff(part(before, 'control'), part(after, 'control')));
  const data =
    after.bucket.version > 1
      ? packedDiff(part(before, 'data'), part(after, 'data'))
      : openDiff(before.bucket, after.bucket);
  add(inner, 'sdata', data);
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

function openDiff(before: Bucket, after: Bucket): Diff {
  const inserted: Doc = new Map();
  const inner: Doc = new Map();
  for (const [name, values] of after.columns) {
    const rows: Doc = new Map();
    for (let row = before.count; row < values.length; row += 1) {
      const value = values[row];
      if (value !== undefined) rows.set(String(row), value);
    }
    if (rows.size === 0) continue;
    if (before.columns.has(name)) inner.set(`s${name}`, doc(['i', rows]));
    else inserted.set(name, rows);
  }
  return assembleDiff(new Map(), new Map(), inserted, inner);
}

function packedDiff(before: Doc, after: Doc): Diff {
  const inserted: Doc = new Map();
  const grown: Doc = new Map();
  for (const [name, column] of after) {
    const known = before.get(name);
    if (known instanceof Binary && column instanceof Binary) grown.set(name, binaryDiff(known, column));
    else inserted.set(name, column);
  }
  const sections = assembleDiff(new Map(), new Map(), inserted, new Map());
  return grown.size === 0 ? sections : new Map<string, Value>([...sections, ['b', grown]]);
}

/** From which byte on the binary data differ, and the new bytes from there on. */
function binaryDiff(before: Binary, after: Binary): Doc {
  const [old, now] = [before.value(), after.value()];
  let offset = 0;
  while (offset < old.length && offset < now.length && old[offset] === now[offset]) offset += 1;
  return doc(['o', new Int32(offset)], ['d', new Binary(now.subarray(offset))]);
}
