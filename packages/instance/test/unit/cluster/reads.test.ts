import { expect, it, describe } from 'vitest';
import { matchingAll, BatchSize, batchDocumentsMax } from '../../../src/cluster/reads.js';

it('joins the queries that are given', () => {
  expect(matchingAll()).toEqual({});
  expect(matchingAll(undefined, undefined)).toEqual({});
  expect(matchingAll(undefined, { a: 1 })).toEqual({ filter: { a: 1 } });
  expect(matchingAll({ a: 1 }, { b: 1 })).toEqual({ filter: { $and: [{ a: 1 }, { b: 1 }] } });
});

const batch = (documents: number, documentBytes: number) => ({
  documents: Array.from({ length: documents }, () => new Uint8Array(0)),
  bytes: documents * documentBytes,
});

describe('the batch size', () => {
  it('is bounded in bytes from the first batch when the document size is known', () => {
    expect(new BatchSize(500_000).documents).toBe(2);
    expect(new BatchSize(16_000_000).documents).toBe(1);
    expect(new BatchSize(10_000).documents).toBe(104);
  });

  it('is bounded in documents', () => {
    expect(new BatchSize(50).documents).toBe(batchDocumentsMax);
  });

  it('adapts to the documents read', () => {
    const size = new BatchSize(0);
    expect(size.documents).toBe(100);
    size.received(batch(100, 200));
    expect(size.documents).toBe(batchDocumentsMax);
    size.received(batch(2000, 100_000));
    expect(size.documents).toBe(10);
    size.received(batch(0, 0));
    expect(size.documents).toBe(10);
  });
});
