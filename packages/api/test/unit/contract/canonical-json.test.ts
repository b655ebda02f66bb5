import { describe, expect, it } from 'vitest';
import { canonicalJson, sortedSet } from '@convoy/api/contract/canonical-json';

describe('canonicalJson', () => {
  it('sorts fields at every level by code units and keeps the order of arrays', () => {
    expect(canonicalJson({ b: [{ d: 1, c: 2 }, 1], a: null, é: 'x', Z: true })).toBe(
      '{"Z":true,"a":null,"b":[{"c":2,"d":1},1],"é":"x"}',
    );
  });

  it('leaves out fields that are undefined', () => {
    expect(canonicalJson({ a: undefined, b: 1 })).toBe('{"b":1}');
  });

  it('escapes as JSON does', () => {
    expect(JSON.parse(canonicalJson({ 'a"\n': '\u0000"' }))).toEqual({ 'a"\n': '\u0000"' });
  });
});

describe('sortedSet', () => {
  it('drops duplicates and sorts by text', () => {
    expect(sortedSet(['b', 'a', 'B', 'b', 'é'], String)).toEqual(['B', 'a', 'b', 'é']);
  });
});
