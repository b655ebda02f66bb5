import fc from 'fast-check';
import { expect, test } from 'vitest';
import { changeBetween, type Json, withChange } from '../../../src/dashboard/change.js';
import { EventLines } from '../../../src/dashboard/fleet-stream.js';

const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as Json);

test('a change converts one value to the next', () => {
  fc.assert(
    fc.property(json, json, (before, after) => {
      const change = changeBetween(before, after);
      expect(change === undefined ? before : withChange(before, change)).toEqual(change === undefined ? before : after);
      if (change === undefined) expect(before).toEqual(after);
    }),
  );
});

test('a change contains only differing members, and removes missing ones', () => {
  const before = { a: 1, b: { c: [1, 2], d: 'x' }, e: null };
  const after = { a: 1, b: { c: [1, 3], d: 'x' }, f: true };
  const change = changeBetween(before, after) ?? null;
  expect(change).toEqual({ b: { c: [1, 3] }, e: { $gone: true }, f: true });
  expect(withChange(before, change)).toEqual(after);
});

test('assembles events from pieces, without comments', () => {
  const text = ': keep-alive\n\nid: 1\nevent: fleet\ndata: {"a":1}\n\nid: 2\nevent: change\ndata: {}\n\n';
  for (const size of [1, 7, text.length]) {
    const lines = new EventLines();
    const events = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
      lines.take(text.slice(at * size, (at + 1) * size)),
    ).flat();
    expect(events).toEqual([
      { event: 'fleet', data: '{"a":1}' },
      { event: 'change', data: '{}' },
    ]);
  }
});
