import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { withJoinedStrings } from '../../../../../test/source-tree.js';

const repository = new URL('../../../../../', import.meta.url);

interface Row {
  readonly id: string;
  readonly sentence: string;
  readonly shownBy: string;
}

/** The rows of docs/reference/contract.md; a row that is not written as the others has empty parts. */
function documentRows(): Row[] {
  const lines = readFileSync(new URL('docs/reference/contract.md', repository), 'utf8').split('\n');
  return lines
    .filter((line) => /^\| (?:\d|preflight-|kinds-)/.test(line))
    .map((line) => {
      const [, id = '', sentence = '', shownBy = ''] =
        /^\| ((?:\d[\d.]*|preflight|kinds)-\d+) \| ([^|]+) \| ([^|]+) \|$/.exec(line) ?? [];
      return { id, sentence, shownBy };
    });
}

/** The titles in a test file: of the calls of `it`, `test` and their tables. */
function titlesIn(source: string): string[] {
  const call = /\b(?:it|test)(?:\.\w+)*\(\s*(?<quote>['"`])(?<title>(?:\\.|(?!\k<quote>)[^\\])*)\k<quote>/g;
  const tableCall = /\)\(\s*(?<quote>['"`])(?<title>(?:\\.|(?!\k<quote>)[^\\])*)\k<quote>,/g;
  return [call, tableCall].flatMap((pattern) => {
    return [...source.matchAll(pattern)].map((match) => (match.groups?.['title'] ?? '').replace(/\\(['"`])/g, '$1'));
  });
}

const rows = documentRows();

describe('docs/reference/contract.md', () => {
  it('has rows with unique ids for chapters 2 to 8, preflight and kinds of collections', () => {
    const chapters = new Set(rows.map((row) => row.id.charAt(0)));
    expect([...chapters].sort()).toEqual(['2', '3', '4', '5', '6', '7', '8', 'k', 'p']);
    expect(new Set(rows.map((row) => row.id)).size).toBe(rows.length);
  });

  it.each(rows.filter((row) => row.shownBy !== 'open'))(
    'row $id names tests that exist',
    ({ id, sentence, shownBy }) => {
      for (const reference of shownBy.split('<br>')) {
        const { file = '', title = '' } = /^`(?<file>[^`]+\.test\.ts)` > (?<title>.+)$/.exec(reference)?.groups ?? {};
        const url = new URL(file, repository);
        expect({ reference, exists: file !== '' && existsSync(url) }).toEqual({ reference, exists: true });
        const source = withJoinedStrings(readFileSync(url, 'utf8'));
        expect(titlesIn(source)).toContain(title);
        // A table of findings has its titles in the rows.
        if (id.startsWith('preflight') && title === '$what') expect(source).toContain(`what: '${sentence}'`);
      }
    },
  );
});
