import type { NamespacesPage } from '@convoy/api/client/contract-client';
import { bothNames } from '@convoy/api/contract/namespace-remap';
import { bytesText, countText, percentText } from '@convoy/coordinator/dashboard/views/quantity';

const columns = ['collection', 'copied', 'of', 'part', 'documents'] as const;

/** The progress per collection as a table: one line each, and how many are not shown. */
export function collectionLines({ total, matching, rows }: NamespacesPage): string[] {
  if (total === 0) return ['No collections yet.'];
  if (rows.length === 0) return [`None of ${countText(total)} collections matches.`];
  const cells = rows.map(({ namespace, destination, copiedBytes, totalBytes, copiedDocuments, partitions }) => [
    bothNames(namespace, destination),
    bytesText(copiedBytes),
    bytesText(totalBytes),
    partText(copiedBytes, totalBytes, partitions.waiting + partitions.starting + partitions.copying === 0),
    countText(copiedDocuments),
  ]);
  const table = [[...columns], ...cells];
  const widths = columns.map((_name, index) => Math.max(...table.map((row) => row[index]?.length ?? 0)));
  const lines = table.map((row) =>
    row
      .map((cell, index) => (index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0)))
      .join('  '),
  );
  return [
    ...lines,
    ...orderLines(rows),
    `${countText(rows.length)} of ${countText(matching)} shown, ${countText(total)} in total.`,
  ];
}

/** Where an option asks for another order than that of `_id`: the order of each collection, and why. */
function orderLines(rows: NamespacesPage['rows']): string[] {
  return rows.flatMap(({ namespace, copyOrders = [] }) =>
    copyOrders.map(({ description }) => `${namespace}: ${description}`),
  );
}

function partText(copiedBytes: number, totalBytes: number, isDone: boolean): string {
  if (isDone) return 'copied';
  return percentText(totalBytes === 0 ? null : Math.min(99.9, (100 * copiedBytes) / totalBytes));
}
