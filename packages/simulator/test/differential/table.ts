import type { FamilyScore } from './run-family.js';

const heading = ['family', 'commands', 'equal', 'of these errors', 'differ', 'refused', 'fraction'];

/** One line for each family. The percentage is that of equal commands among those that were not refused by name. */
export function table(scores: readonly FamilyScore[]): string {
  const rows = scores.map((score) => [
    score.family,
    ...[score.commands, score.equal, score.failed, score.differ, score.refused].map((count) =>
      count.toLocaleString('en'),
    ),
    fractionOf(score).toFixed(4),
  ]);
  const widths = heading.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ');
  return [heading, ...rows].map(line).join('\n');
}

function fractionOf({ equal, differ }: FamilyScore): number {
  return equal + differ === 0 ? 1 : equal / (equal + differ);
}
