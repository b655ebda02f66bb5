import { Int32 } from 'bson';
import { expect, it } from 'vitest';
import type { Doc, Value } from '../../../src/bson/value.js';
import { computeDiff } from '../../../src/update/diff.js';

function stored(text: string, added: boolean): Doc {
  const fields: [string, Value][] = [
    ['_id', new Int32(1)],
    ['s', text],
  ];
  return new Map(added ? [...fields, ['b', new Int32(1)]] : fields);
}

it.each([
  ['12345', false],
  ['123456', false],
  ['1234567', true],
])('a difference that is not shorter than the document is not logged: %s', (text, reported) => {
  expect(computeDiff(stored(text, false), stored(text, true)) !== undefined).toBe(reported);
});
