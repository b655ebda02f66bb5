import { readText } from '../source-tree.js';

/**
 * Rows of the first table of a document's chapter, each as its cells without surrounding spaces.
 * @param path from the repository's folder
 * @param heading text of the chapter's heading of the second level
 * @returns header and rows; without the line between them
 */
export function documentTable(path: string, heading: string): { header: string[]; rows: string[][] } {
  const chapter = readText(path)
    .split(/^## /m)
    .find((text) => text.startsWith(`${heading}\n`));
  if (chapter === undefined) throw new Error(`${path} has no chapter ${heading}`);
  const lines = chapter.split('\n');
  const begin = lines.findIndex((line) => line.startsWith('|'));
  const end = lines.findIndex((line, index) => index > begin && !line.startsWith('|'));
  const [header = [], , ...rows] = lines.slice(begin, end === -1 ? undefined : end).map(cells);
  return { header, rows };
}

function cells(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** The text of a cell that is written as code, without its marks; what is not code stays as it is. */
export function plainText(cell: string | undefined): string {
  return (cell ?? '').replace(/^`(.*)`$/, '$1');
}
