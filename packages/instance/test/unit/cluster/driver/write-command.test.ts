import { BSON } from 'mongodb';
import { describe, expect, it } from 'vitest';
import {
  writeCommand,
  assertWithinLimits,
  bulkBytesMax,
  bulkStatementsMax,
  partsWithin,
} from '../../../../src/cluster/driver/write-command.js';

function sizesOf(sizes: readonly number[], bytesMax: number): number[][] {
  return [...partsWithin(sizes, (size) => size, bytesMax)];
}

describe('a list of statements', () => {
  it('is split before a part would be too large', () => {
    expect(sizesOf([4, 4, 4, 2, 9, 1], 10)).toEqual([
      [4, 4],
      [4, 2],
      [9, 1],
    ]);
  });

  it('puts oversized items into parts of their own', () => {
    expect(sizesOf([1, 20, 1], 10)).toEqual([[1], [20], [1]]);
  });

  it('is split by count as well', () => {
    const parts = sizesOf(
      Array.from({ length: bulkStatementsMax * 2 + 1 }, () => 0),
      10,
    );
    expect(parts.map(({ length }) => length)).toEqual([bulkStatementsMax, bulkStatementsMax, 1]);
  });

  it('has no parts if it is empty', () => {
    expect(sizesOf([], 10)).toEqual([]);
  });
});

describe('a bulk write that servers refuse', () => {
  const write = { database: 'shop', collection: 'orders', kind: 'insert', ordered: false } as const;
  const empty = BSON.serialize({});

  it('of more than 100,000 statements is not sent', () => {
    const statements = Array.from({ length: 100_001 }, () => empty);
    expect(() => writeCommand({ ...write, statements }, null)).toThrow('100001 statements');
    expect(() => writeCommand({ ...write, statements: statements.slice(1) }, null)).not.toThrow();
  });

  it('of more than 48,000,000 bytes is not sent', () => {
    const document = new Uint8Array(16_000_000);
    expect(() => writeCommand({ ...write, statements: [document, document, document] }, null)).toThrow(
      '48000000 bytes',
    );
    expect(() => assertWithinLimits([document, document])).not.toThrow();
  });

  it('is never one of those split here, whose last statement is a document of 16 MB with its overhead', () => {
    expect(() =>
      assertWithinLimits([new Uint8Array(bulkBytesMax - 1), new Uint8Array(16 * 2 ** 20 + 16 * 1024)]),
    ).not.toThrow();
  });
});
