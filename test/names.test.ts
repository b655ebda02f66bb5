import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { readText, trackedFiles } from './source-tree.js';

const packages = new Map<string, string[]>();
for (const path of trackedFiles()) {
  const [, name] = /^packages\/([a-z]+)\/src\/.*\.ts$/.exec(path) ?? [];
  if (name !== undefined) packages.set(name, [...(packages.get(name) ?? []), path]);
}

describe('exported names', () => {
  test.each([...packages])('of %s stand once: a reader who looks for one finds it', (_name, paths) => {
    const places = new Map<string, string[]>();
    for (const path of paths)
      for (const name of exportedNames(path)) places.set(name, [...(places.get(name) ?? []), path]);
    const twice = [...places].filter(([, where]) => where.length > 1);
    expect(twice.map(([name, where]) => `${name}: ${where.join(', ')}`)).toEqual([]);
  });
});

/** Names that a module declares and exports; a type and a value of one name count once. */
function exportedNames(path: string): Set<string> {
  const file = ts.createSourceFile(path, readText(path), ts.ScriptTarget.Latest);
  return new Set(file.statements.filter(isExported).flatMap((statement) => namesOf(statement, file)));
}

function isExported(statement: ts.Statement): boolean {
  const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) : undefined;
  return modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;
}

function namesOf(statement: ts.Statement, file: ts.SourceFile): string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name.getText(file));
  const isNamed =
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isEnumDeclaration(statement);
  return isNamed && statement.name !== undefined ? [statement.name.text] : [];
}
