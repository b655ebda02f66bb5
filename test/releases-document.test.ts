import { describe, expect, test } from 'vitest';
import { allProbes, probesByTopic } from '@convoy/instance/probes/all-probes';
import { releaseCells } from '@convoy/instance/probes/release-table';
import { documentTable } from './document-table.js';

describe('docs/releases.md', () => {
  test.each(Object.entries(probesByTopic))('has the row of every probe: %s', (topic, probes) => {
    expect(documentTable('docs/releases.md', topic).rows).toEqual(probes.map(releaseCells));
  });
});

describe('probes', () => {
  test('have names of their own, and say what they are about', () => {
    const names = allProbes.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name))).toEqual([]);
    for (const { name, sentence, source, otherwise } of allProbes) for (const text of [sentence, source, otherwise]) expect(text, name).not.toBe('');
    expect(allProbes.filter(({ sentence, otherwise }) => ![sentence, otherwise].every((text) => text.endsWith('.')))).toEqual([]);
  });
});
