import type { Hazard, NamedTest, Sabotage } from './hazard.js';

/** Where the map is kept. */
export const documentPath = 'docs/hazards.md';

const introduction = `# Hazards

What migrations of live clusters have lost, duplicated or blocked data by, what Convoy does about each, the lines in the
sources that do it, and the tests that fail without them. \`npm run sabotage\` takes each of these lines out of a copy of the
sources and runs the named tests: \`--only 3,12\` for some hazards, \`--part 2/6\` for a part of them. The table is written by
\`npm run sabotage -- --document\` from \`test/sabotage/hazards\`, and a test compares it with them and with the sources.
[Decision 0009](decisions/0009-sabotage.md) says why it works this way.

A row that says *open* is not handled, or not wholly.

| # | Hazard | Handling | Where | Test |
|---|---|---|---|---|
`;

/** The text of the map. */
export function hazardsDocument(hazards: readonly Hazard[]): string {
  return introduction + hazards.map(rowOf).join('');
}

function rowOf({ number, hazard, handling, open, sabotages }: Hazard): string {
  const handled = open === undefined ? handling : `${handling} *Open:* ${open}`;
  return `| ${number} | ${cell(hazard)} | ${cell(handled)} | ${listed(sabotages.map(placeOf))} | ${listed(sabotages.flatMap(({ tests }) => tests).map(testOf))} |\n`;
}

function placeOf({ file, symbol, find }: Sabotage): string {
  const [line = ''] = find.trim().split('\n');
  return `${link(file)} \`${symbol}\`: ${code(line)}`;
}

/** Text as code; such with backticks is fenced by two of them. */
function code(text: string): string {
  return text.includes('`') ? `\`\` ${cell(text)} \`\`` : `\`${cell(text)}\``;
}

function testOf({ file, title }: NamedTest): string {
  return `${link(file)}: ${cell(title)}`;
}

function link(file: string): string {
  return `[${file.split('/').at(-1) ?? file}](../${file})`;
}

function listed(items: readonly string[]): string {
  return [...new Set(items)].join('<br>');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
