import { describe, expect, test } from 'vitest';
import { readText, trackedFiles } from '../source-tree.js';

/** Records to read are few: what belongs to one subject stands in one of them. */
const filesMax = 50;
const folder = 'docs/decisions/';
const files = trackedFiles().filter((path) => path.startsWith(folder));
const names = files.map((path) => path.slice(folder.length)).filter((name) => name !== 'README.md');

interface DecisionRecord {
  file: string;
  title: string;
  decided: string;
  status: string;
}

/** A row of the index: number with a link, title, days, status. */
const row =
  /^\| \[(?<number>\d{4})\]\((?<file>\S+\.md)\) (?<title>.+) \| (?<decided>[\d-]+(?: to [\d-]+)?) \| (?<status>.+) \|$/;
/** The first lines of a record: number and title, then days and status. */
const heading = /^# (?<number>\d{4}) (?<title>.+)\n\nDecided (?<decided>[\d-]+(?: to [\d-]+)?)\. (?<status>[^\n]+)\.\n/;

function recordOf(file: string, groups: Readonly<Record<string, string>> | undefined): DecisionRecord {
  const { number = '', title = '', decided = '', status = '' } = groups ?? {};
  return { file: `${number}: ${file}`, title, decided, status: status.toLowerCase() };
}

describe('docs/decisions', () => {
  const rows = readText(`${folder}README.md`)
    .split('\n')
    .filter((line) => /^\| \[/.test(line));

  test('the index has each record once, with its title, its days and its status', () => {
    const listed = rows.map((line) => {
      const { groups } = row.exec(line) ?? {};
      return recordOf(groups?.['file'] ?? line, groups);
    });
    const written = names.map((name) => recordOf(name, heading.exec(readText(folder + name))?.groups));
    const byFile = (one: DecisionRecord, other: DecisionRecord): number => one.file.localeCompare(other.file);
    expect(listed.sort(byFile)).toEqual(written.sort(byFile));
  });

  test('a record has the number of its file, and no two have one number', () => {
    const numbers = names.map((name) => name.slice(0, 4));
    expect(names.filter((name) => !readText(folder + name).startsWith(`# ${name.slice(0, 4)} `))).toEqual([]);
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  test(`there are at most ${filesMax} files`, () => {
    expect(files.length).toBeLessThanOrEqual(filesMax);
  });

  test('whatever names a record names one that exists', () => {
    const texts = trackedFiles().filter((path) => /\.(?:md|ts|mjs|ya?ml|tpl|sh)$/.test(path));
    const reference = /\bdecisions\/(\d{4}(?:-[a-z0-9-]+\.md)?)|\b[Dd]ecision (\d{4})\b/g;
    const wrong = texts.flatMap((path) =>
      [...readText(path).matchAll(reference)]
        .map(([, file, number]) => file ?? number ?? '')
        .filter((name) => !names.some((known) => known === name || known.slice(0, 4) === name))
        .map((name) => `${path}: ${name}`),
    );
    expect(wrong).toEqual([]);
  });
});
