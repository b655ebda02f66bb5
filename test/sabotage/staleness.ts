import { existsSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { withJoinedStrings, readText, root } from '../source-tree.js';
import type { NamedTest, Sabotage } from './hazard.js';
import { snippetPlaces } from './snippet.js';

/** Why a sabotage no longer fits the sources and tests, each in one sentence; empty when it does. */
export function stalenessOf(sabotage: Sabotage): string[] {
  const { file, find, replace, symbol, tests } = sabotage;
  if (!existsSync(join(root, file))) return [`there is no ${file}`];
  const text = readText(file);
  const places = snippetPlaces(text, find);
  const count = places.length;
  return [
    ...(count === 1 ? [] : [`${file} has ${count} times: ${find}`]),
    ...(find === replace ? ['it changes nothing'] : []),
    ...(count !== 1 || isWithin(symbol, sourceOf(file, text), places[0]?.from ?? 0)
      ? []
      : [`${file} has it outside of ${symbol}: ${find}`]),
    ...(tests.length === 0 ? ['it names no test'] : []),
    ...tests.flatMap(missingTest),
  ];
}

/** Whether a place is inside the declaration of a name. */
function isWithin(symbol: string, source: ts.SourceFile, position: number): boolean {
  const search = (node: ts.Node): boolean => {
    if (position < node.pos || position >= node.end) return false;
    const name = ts
      .getNameOfDeclaration(node as ts.Declaration)
      ?.getText()
      .replace(/^#/, '');
    return name === symbol || (ts.forEachChild(node, (child) => search(child) || undefined) ?? false);
  };
  return search(source);
}

const parsed = new Map<string, ts.SourceFile>();

function sourceOf(file: string, text: string): ts.SourceFile {
  const source = parsed.get(file) ?? ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  parsed.set(file, source);
  return source;
}

/** The missing part of a named test: its file, or its title there. */
export function missingTest({ file, title }: NamedTest): string[] {
  if (!existsSync(join(root, file))) return [`there is no ${file}`];
  const text = withJoinedStrings(readText(file));
  const written = [`'${title.replaceAll("'", "\\'")}'`, `"${title}"`, `\`${title}\``];
  return written.some((quoted) => text.includes(quoted)) ? [] : [`${file} has no test ${title}`];
}
