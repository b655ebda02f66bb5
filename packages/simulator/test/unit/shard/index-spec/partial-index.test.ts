import { Int32 } from 'bson';
import { expect, it } from 'vitest';
import { encodeDocument } from '../../../../src/bson/encode.js';
import type { Doc, Value } from '../../../../src/bson/value.js';
import { defaultVersion } from '../../../../src/node/server-version.js';
import { indexDefinition } from '../../../../src/shard/index-spec/definition.js';
import { doc } from '../../json.js';

const over = (value: number): Doc => new Map([['$gt', new Int32(value)]]);

function holding(filter: Doc): (document: Record<string, unknown>) => boolean | undefined {
  const { holds } = indexDefinition(
    new Map<string, Value>([
      ['key', doc({ a: 1 })],
      ['name', 'a_1'],
      ['partialFilterExpression', filter],
    ]),
    defaultVersion,
  );
  return (document) => holds?.(encodeDocument(doc(document)));
}

it('a partial index holds what its filter matches, whichever fields the filter names', () => {
  const plain = holding(new Map([['a', over(1)]]));
  expect([plain({ _id: 1, b: 5, a: 2 }), plain({ a: 1 }), plain({ b: 5 })]).toEqual([true, false, false]);
  const nested = holding(new Map([['a.b', over(1)]]));
  expect([nested({ x: 1, a: { b: 2 } }), nested({ a: { b: 0 } })]).toEqual([true, false]);
  const both = holding(new Map<string, Value>([['$and', [new Map([['a', over(1)]]), new Map([['b', over(1)]])]]]));
  expect([both({ b: 2, a: 2 }), both({ a: 2 }), both({ b: 2 })]).toEqual([true, false, false]);
});
