import type { Hazard, NamedTest, Sabotage } from './hazard.js';

/** Where the table is stored. */
export const documentPath = 'docs/internals/hazards.md';

const introduction = `# Hazards

Each row is a way in which migrations of live clusters have lost, duplicated or blocked data. It says what Convoy does
about it, where the sources do it, and which tests fail without it. \`npm run sabotage\` takes each of these places out
of a copy of the sources and runs its tests. \`--only 3,12\` does so for some hazards, \`--part 2/6\` for a part of
them. \`npm run sabotage -- --document\` writes this table from \`test/sabotage/hazards\`. A test compares it with them
and with the sources. [Decision 0009](../decisions/0009-sabotage.md) gives the reasons.

*Open* marks what is not handled, or not wholly.

| # | Hazard | Handling | Where | Test |
|---|---|---|---|---|
`;

/** The text of the document. */
export function hazardsDocument(hazards: readonly Hazard[]): string {
  return introduction + hazards.map(rowOf).join('');
}

function rowOf({ number, hazard, handling, open, sabotages }: Hazard): string {
  const handled = open === undefined ? handling : `${handling} *Open:* ${open}`;
  const tests = sabotages.flatMap((sabotage) => sabotage.tests);
  const cells = [number, cell(hazard), cell(handled), listed(sabotages.map(placeOf)), listed(tests.map(testOf))];
  return `| ${cells.join(' | ')} |\n`;
}

/** The symbol alone: a line of its source would change the document with every edit of the line. */
function placeOf({ file, symbol }: Sabotage): string {
  return `${link(file)} \`${symbol}\``;
}

function testOf({ file, title }: NamedTest): string {
  return `${link(file)}: ${cell(title)}`;
}

function link(file: string): string {
  return `[${file.split('/').at(-1) ?? file}](../../${file})`;
}

function listed(items: readonly string[]): string {
  return [...new Set(items)].join('<br>');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
