import { describe, expect, test } from 'vitest';
import { allProbes, probesByTopic } from '@convoy/probes/all-probes';
import { recordedSeries } from '@convoy/probes/recorded-releases';
import { releaseCells } from '@convoy/probes/release-table';
import { documentTable } from './document-table.js';
import { missingTest } from '../sabotage/staleness.js';
import { readText, trackedFiles } from '../source-tree.js';

const documentPath = 'docs/reference/releases.md';
/** A test as a cell of the document names it: a link to its file, and its title. */
const namedTest = /^\[([^\]]+)\]\((?:\.\.\/){2}([^)]+)\): (.+)$/;

describe('docs/reference/releases.md', () => {
  test.each(Object.entries(probesByTopic))('has the row of every probe: %s', (topic, probes) => {
    expect(documentTable(documentPath, topic).rows).toEqual(probes.map(releaseCells));
  });

  const untried = documentTable(documentPath, 'What no probe can try').rows;
  test.each(untried)('names tests that exist: %s', (...cells) => {
    expect(cells.filter((cell) => cell !== '')).toHaveLength(5);
    for (const cell of (cells[3] ?? '').split('<br>')) {
      const [, name, file = '', title = ''] = namedTest.exec(cell) ?? [];
      expect(name, cell).toBe(file.split('/').at(-1));
      expect(missingTest({ file, title })).toEqual([]);
    }
  });
});

describe('recorded releases', () => {
  // Of a release of the corpus not every probe need have been asked.
  test('are among those whose servers report their version in the corpus', () => {
    const versions = trackedFiles()
      .filter((path) => path.startsWith('packages/simulator/corpus/'))
      .flatMap((path) =>
        [...readText(path).matchAll(/"command":\{"buildInfo".*?"version":"(\d+\.\d+)\./g)].map(
          ([, series = '']) => series,
        ),
      );
    expect([...new Set(versions)].sort()).toEqual(['5.0', '8.0']);
    expect(recordedSeries.filter((series) => !versions.includes(series))).toEqual([]);
  });
});

describe('probes', () => {
  test('have names of their own, and say what they are about', () => {
    const names = allProbes.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name))).toEqual([]);
    for (const { name, sentence, source, otherwise } of allProbes)
      for (const text of [sentence, source, otherwise]) expect(text, name).not.toBe('');
    expect(
      allProbes.filter(({ sentence, otherwise }) => ![sentence, otherwise].every((text) => text.endsWith('.'))),
    ).toEqual([]);
  });
});
