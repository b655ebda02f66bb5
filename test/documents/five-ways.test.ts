import { posix } from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { readModules, readText } from '../source-tree.js';

const document = 'docs/internals/2-five-ways.md';
const step = /^\d+\. \[`(?<name>[^`#]+)#(?<symbol>[^`]+)`\]\((?<target>[^)]+)\): (?<sentence>.+)$/;

/** Files and folders that a reader of a way meets at most, without the words of the language and the driver. */
const bounds: Readonly<Record<string, { files: number; folders: number }>> = {
  'A document in the copy': { files: 16, folders: 5 },
  'An update event': { files: 20, folders: 5 },
  'A commit': { files: 26, folders: 8 },
  'createIndex on the source': { files: 16, folders: 5 },
  'A report, until the page shows it': { files: 24, folders: 8 },
};
/** The ways that go through different processes and their rounds come back to some modules. */
const roundTrips = ['A commit', 'A report, until the page shows it'];

interface Step {
  line: string;
  /** The file's path as the document shows it, and from the repository's folder. */
  name: string;
  file: string;
  symbol: string;
}

const imports = new Map(readModules().map(({ path, imports: { path: imported } }) => [path, new Set(imported)]));

describe(document, () => {
  const ways = readText(document)
    .split(/^## /m)
    .slice(1)
    .map((chapter) => ({ title: chapter.split('\n')[0] ?? '', steps: stepsOf(chapter), files: filesOf(chapter) }));

  test('has the five ways, each with its steps in order', () => {
    expect(ways.map(({ title }) => title)).toEqual([
      'A document in the copy',
      'An update event',
      'A commit',
      'createIndex on the source',
      'A report, until the page shows it',
    ]);
    for (const { steps } of ways) {
      expect(steps.length).toBeGreaterThan(10);
      expect(steps.map(({ line }) => Number.parseInt(line, 10))).toEqual(steps.map((_, index) => index + 1));
    }
  });

  test.each(ways)('$title: every step has a symbol that exists in its file', ({ steps }) => {
    const wrong = steps.filter(
      ({ name, file, symbol }) => !file.endsWith(`/src/${name}`) || !symbolsOf(file).has(symbol),
    );
    expect(wrong.map(({ line }) => line)).toEqual([]);
  });

  test.each(ways)("$title: every step's file reaches the next one's, or is reached from it", ({ steps }) => {
    const wrong = steps.flatMap(({ file, line }, index) => {
      const next = steps[index + 1]?.file ?? file;
      return reaches(file, next) || reaches(next, file) ? [] : [`from ${line} to ${next}`];
    });
    expect(wrong).toEqual([]);
  });

  test.each(ways)('$title: is short, and comes back to no file', (way) => {
    const folders = new Set(way.files.map((file) => posix.dirname(file)));
    expect(way.files.length).toBeLessThanOrEqual(bounds[way.title]?.files ?? 0);
    expect(folders.size).toBeLessThanOrEqual(bounds[way.title]?.folders ?? 0);
    const visits = way.steps.map(({ file }) => file).filter((file, index, all) => file !== all[index - 1]);
    if (!roundTrips.includes(way.title)) expect(visits).toEqual([...new Set(visits)]);
  });
});

/** The modules that a chapter links, in its steps and beside them. */
function filesOf(chapter: string): string[] {
  const targets = [...chapter.matchAll(/\]\((?<target>[^)#]+\.ts)\)/g)].map(({ groups }) => groups?.target ?? '');
  return [...new Set(targets)];
}

function stepsOf(chapter: string): Step[] {
  return chapter
    .split('\n')
    .filter((line) => /^\d+\. /.test(line))
    .map((line) => {
      const { name = '', symbol = '', target = '' } = step.exec(line)?.groups ?? {};
      return { line, name, symbol, file: posix.join(posix.dirname(document), target) };
    });
}

/** Whether a module imports another one, directly or through one more. */
function reaches(from: string, to: string): boolean {
  const imported = imports.get(from) ?? new Set();
  return from === to || imported.has(to) || [...imported].some((between) => imports.get(between)?.has(to) === true);
}

/** Names that a module declares, and members of its classes as `Class.member`. */
function symbolsOf(path: string): Set<string> {
  const file = ts.createSourceFile(path, readText(path), ts.ScriptTarget.Latest);
  const names = file.statements.flatMap((statement): string[] => {
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.map(({ name }) => name.getText(file));
    if (ts.isClassDeclaration(statement)) {
      const name = statement.name?.text ?? '';
      return [name, ...statement.members.map((member) => `${name}.${member.name?.getText(file) ?? ''}`)];
    }
    const isNamed =
      ts.isFunctionDeclaration(statement) ||
      ts.isInterfaceDeclaration(statement) ||
      ts.isTypeAliasDeclaration(statement);
    return isNamed && statement.name !== undefined ? [statement.name.text] : [];
  });
  return new Set(names);
}
