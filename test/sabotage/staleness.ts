import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readText, root } from '../source-tree.js';
import type { NamedTest, Sabotage } from './hazard.js';

/** Why a sabotage no longer fits the sources and tests, each in one sentence; empty when it does. */
export function stalenessOf(sabotage: Sabotage): string[] {
  const { file, find, replace, symbol, tests } = sabotage;
  if (!existsSync(join(root, file))) return [`there is no ${file}`];
  const text = readText(file);
  const count = text.split(find).length - 1;
  return [
    ...(count === 1 ? [] : [`${file} has ${count} times: ${find}`]),
    ...(find === replace ? ['it changes nothing'] : []),
    ...(new RegExp(`(^|[^\\w])${symbol}\\b`).test(text) ? [] : [`${file} has no ${symbol}`]),
    ...(tests.length === 0 ? ['it names no test'] : []),
    ...tests.flatMap(missingTest),
  ];
}

function missingTest({ file, title }: NamedTest): string[] {
  if (!existsSync(join(root, file))) return [`there is no ${file}`];
  const text = readText(file);
  const written = [`'${title.replaceAll("'", "\\'")}'`, `"${title}"`, `\`${title}\``];
  return written.some((quoted) => text.includes(quoted)) ? [] : [`${file} has no test ${title}`];
}
